"""Rehearsals of policies as files: what each expects, held against what a run tells.

A file is what `tidegate simulate policies FILE` reads. It is played twice: in virtual time on a
simulated hub, and on a real one (tests/real/test_policy_stories.py).
"""

from collections.abc import Iterable
from pathlib import Path

import yaml

from tidegate.kinds.policies.simulated.scenario import ExpectedStory, PolicyScenario
from tidegate.kinds.policies.wire.rehearsal_doc import read_rehearsal

FILES = sorted((Path(__file__).parent / "policies").glob("*.yaml"))
_HEAD = "expect:\n"


def story_id(path: Path) -> str:
    """A story by its name."""
    return path.stem


def read_story(path: Path) -> PolicyScenario:
    """A file, read."""
    return read_rehearsal(yaml.safe_load(path.read_text(encoding="utf-8")))


def expectation(told: ExpectedStory) -> list[str]:
    """What a run was, as the end of a file has it."""
    lines = ["expect:", "  story:", *(f'    - "{line}"' for line in told.story), "  clusters:"]
    for cluster, had in told.clusters.items():
        listed = ", ".join(f'"{each}"' for each in had)
        lines.append(f"    {cluster}: [{listed}]")
    return lines


def written(path: Path) -> list[str]:
    """The end of a file: what it expects."""
    text = path.read_text(encoding="utf-8")
    return [*_HEAD.splitlines(), *text.partition(_HEAD)[2].splitlines()] if _HEAD in text else []


def rewrite(path: Path, lines: Iterable[str]) -> None:
    """Have a file expect what a run was; nothing else in it changes."""
    before = path.read_text(encoding="utf-8").partition(_HEAD)[0]
    path.write_text(before + "\n".join([*lines, ""]), encoding="utf-8")
