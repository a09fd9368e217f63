"""Where no worker is running, readers say that a journal's chain is broken, and what to do."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.test_attendance import LOOKS
from tests.cli.test_setting_brakes import staged, tidegate
from tests.engine.stage import PARTITION, Process
from tests.engine.test_broken_chain import CHANGES, change

REMEDY = "nothing is acted on; restore the journal from a backup"


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A folder whose worker has ended, and given its lease back."""
    stage = staged(tmp_path)
    asyncio.run(Process(stage).round())
    stage.store.release(stage.store.leases()[PARTITION].lease)
    return tmp_path


def test_a_chain_that_holds_is_not_mentioned(left: Path) -> None:
    for args in LOOKS:
        done = tidegate(left, *args)
        assert "chain" not in done.stdout + done.stderr, args


@pytest.mark.parametrize("how", CHANGES)
def test_every_look_says_that_a_chain_is_broken(left: Path, how: str) -> None:
    """However it was broken: even where the rollout cannot be made from what is left."""
    change(left / "tidegate.db", CHANGES[how])
    for args in LOOKS:
        done = tidegate(left, *args)
        said = done.stdout + done.stderr
        assert f"{PARTITION}: its chain is broken: " in said, (args, said)
        assert REMEDY in said, args
        assert "Traceback" not in said, args


@pytest.mark.parametrize("how", CHANGES)
def test_a_broken_chain_is_action_required(left: Path, how: str) -> None:
    change(left / "tidegate.db", CHANGES[how])
    assert "Action required: 1 journal with a broken chain" in tidegate(left, "status").stdout
    report = json.loads(tidegate(left, "status", "-o", "json").stdout)
    assert report["needs"]["journals with a broken chain"] == 1
    assert REMEDY in report["workers"][0]["broken"]


def test_a_request_says_that_a_broken_chain_keeps_it_from_taking_effect(left: Path) -> None:
    change(left / "tidegate.db", CHANGES["another actor"])
    done = tidegate(left, "pause", PARTITION, "--yes")
    assert f"{PARTITION}: its chain is broken: entry 2 was changed" in done.stderr
