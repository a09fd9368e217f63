"""`run` says why something was not done, not only that; with `--once`, its exit code does."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.managed import example, managed
from tidegate.cli.main import cli
from tidegate.cli.worker.run_watch import _not_done_lines
from tidegate.journal.facts import Acted, TaskOutcome


def test_what_is_refused_is_told_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A manager whose clock is ahead refuses every start that is in its past."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OCM_SECRET", "simulated")
    with managed(example(now="2100-01-04T08:00:00Z")) as manager:
        orgs = [{"id": "o-payments", "name": "Payments", "environment": "prod"}]
        document = {"environments": [manager.environment()], "organizations": orgs}
        Path("upgrades.yaml").write_text(json.dumps(document), encoding="utf-8")
        words = ("--kind", "upgrades", "--upgrades", "upgrades.yaml", "--act", "*")
        result = CliRunner().invoke(cli, ["run", "--once", *words, "--database", "t.db"])
    said = result.stderr
    assert result.exit_code == 1, said
    assert "pay-stage-1 upgrade 4.16" in said
    (line,) = (each for each in said.splitlines() if "pay-stage-1: not done: " in each)
    assert "HTTP 400 to POST" in line


def test_many_that_were_not_done_are_counted() -> None:
    """Three with the reason; the journal has the others."""
    acts = [
        Acted(key=f"k{at}", target=f"t{at}", outcome=TaskOutcome.FAILED, detail="no answer")
        for at in range(40)
    ]
    assert list(_not_done_lines(acts)) == [
        "t0: not done: no answer",
        "t1: not done: no answer",
        "t2: not done: no answer",
        "37 more not done; `tidegate journal show` has each",
    ]
    assert list(_not_done_lines([])) == []
