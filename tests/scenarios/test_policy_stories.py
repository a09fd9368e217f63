"""The stories of policies in virtual time: each goes as its file expects."""

import os
from pathlib import Path

import pytest

from tests.scenarios.policy_stories import (
    FILES,
    expectation,
    read_story,
    rewrite,
    story_id,
    written,
)
from tidegate.kinds.policies.app.rehearsal import FinishedPolicies, simulate_policies
from tidegate.simulation.virtual_loop import run_virtually
from tidegate.store.client.memory import MemoryStore


def _told(path: Path) -> FinishedPolicies:
    story = read_story(path)
    return run_virtually(lambda _: simulate_policies(story, MemoryStore()), story.start)


@pytest.mark.parametrize("path", FILES, ids=story_id)
def test_the_story_goes_as_it_is_written(path: Path, request: pytest.FixtureRequest) -> None:
    """On the simulated hub: the same lines in the same order, and what each cluster had."""
    found = _told(path)
    lines = expectation(found.told)
    asked = request.config.getoption("--rewrite", default=False)
    if asked or os.environ.get("TIDEGATE_REWRITE") == "1":
        rewrite(path, lines)
    assert written(path) == lines
    assert found.document.left == ()
    assert asked or found.document.as_expected is True


@pytest.mark.parametrize("path", FILES, ids=story_id)
def test_every_story_says_what_it_is_about(path: Path) -> None:
    """In a comment above it."""
    assert path.read_text(encoding="utf-8").startswith("# ")
