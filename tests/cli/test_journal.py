"""`tidegate journal` as people meet it: real files, real exit codes."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests import command
from tests.patience import PATIENCE_S
from tidegate.cli.journal.show import POLL_S
from tidegate.journal.chain import JournalNote
from tidegate.journal.fact import Fact
from tidegate.journal.facts import Acted, Asked, Braked, Mode, TaskOutcome, Verb
from tidegate.journal.pieces import Piece
from tidegate.kinds.rollouts.core.journal.facts import (
    Decided,
    RolloutDeclared,
    TargetsObserved,
    TargetStanding,
)
from tidegate.kinds.rollouts.core.journal.state import RolloutState, fold
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.kinds.rollouts.core.summary import Summary
from tidegate.kinds.rollouts.core.world import Membership
from tidegate.model.target import Status, Target
from tidegate.model.time import SECOND, Instant, parse_instant
from tidegate.store.port import TakenPlace
from tidegate.wiring import open_store

START = parse_instant("2026-01-31T12:00:00Z")
HELD = ("mutex", "wait", "MutexHeld", None)


def tidegate(*args: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, where `tidegate.db` is the journal.

    In this process: a database takes longer to import than any of these commands to run.
    """
    return command.tidegate("journal", *args, cwd=cwd, env=clean(), stdin=stdin)


def clean() -> dict[str, str]:
    """An environment without our own settings."""
    ours = ("COLUMNS", "CI", "TIDEGATE_DATABASE")
    return {name: value for name, value in os.environ.items() if name not in ours}


def story(count: int = 3) -> list[JournalNote]:
    """A rollout: declared, observed, decided, acted on, approved."""
    clusters = tuple(f"east-{n}" for n in range(count))
    strategy = Strategy(StrategyType.PROGRESSIVE)
    declared = RolloutDeclared(
        strategy=strategy, groups=(Membership("dev", 0, clusters),), revision="B"
    )
    plan = Decided(
        now=START,
        mode=Mode.ACT,
        summary=Summary.PROGRESSING,
        changed=tuple(TargetStanding(name, (HELD,)) for name in clusters),
    )
    acted = [Acted(key=f"k/{name}", target=name, outcome=TaskOutcome.DONE) for name in clusters]
    reports = tuple(Target(name, Status.Progressing, START, "B") for name in clusters)
    facts: list[Fact] = [declared, TargetsObserved(reports=reports), plan, *acted]
    notes = [
        JournalNote(Instant(START + n * SECOND), "tidegate", fact) for n, fact in enumerate(facts)
    ]
    asked = Asked(verb=Verb.APPROVE, groups=("prod",), reason="looked at it")
    return [*notes, JournalNote(Instant(START + 3600 * SECOND), "user:ada", asked)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a journal of a rollout and of brakes."""
    store = open_store(str(tmp_path / "tidegate.db"))
    claim = TakenPlace("mutex/db", 0, "policies/r1", "k/east-0", START)
    store.append("policies/r1", story(), claims=[claim])
    hold = Braked(brake="hold", name="outage", document={"scope": "*"}, reason="database down")
    store.append("brakes", [JournalNote(Instant(START + 2 * SECOND), "user:bob", hold)])
    store.close()
    return tmp_path


def dump(folder: Path) -> list[Piece]:
    """All that is in the journal of a folder."""
    store = open_store(str(folder / "tidegate.db"), writes=False)
    try:
        return list(store.dump())
    finally:
        store.close()


def tamper(folder: Path, statement: str) -> None:
    """Do something to the tables that the store would not."""
    connection = sqlite3.connect(folder / "tidegate.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


def seqs(folder: Path, *args: str) -> list[str]:
    """Which entries are shown, as partition:seq."""
    found = tidegate("show", *args, "-o", "json", cwd=folder)
    assert found.returncode == 0, found.stderr
    items = json.loads(found.stdout)["items"]
    return [f"{item['partition'][-2:]}:{item['seq']}" for item in items]


# show


def test_show_tells_what_happened_in_the_order_of_time(folder: Path) -> None:
    """Entries of all partitions, by time, with who did what to whom."""
    done = tidegate("show", cwd=folder)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0].split() == ["AT", "PARTITION", "SEQ", "ACTOR", "KIND", "TARGET", "WHAT"]
    assert [line.split()[4] for line in lines[1:]] == [
        *("declared", "observed", "braked", "decided", "acted", "acted", "acted", "asked")
    ]
    assert lines[3].endswith("hold outage set: database down")
    assert lines[-1].split()[0] == "2026-01-31T13:00:00Z"
    assert lines[-1].endswith("approve prod: looked at it")


@pytest.mark.parametrize(
    "args, expected",
    [
        (["-p", "policies/r1", "--kind", "acted"], ["r1:4", "r1:5", "r1:6"]),
        (["--kind", "asked", "--kind", "braked"], ["es:1", "r1:7"]),
        (["--target", "east-1"], ["r1:1", "r1:2", "r1:3", "r1:5"]),
        (["--target", "east-1", "--gate", "mutex"], ["r1:3"]),
        (["--gate", "hold"], ["es:1"]),
        (["--actor", "user:ada"], ["r1:7"]),
        (["--since", "2026-01-31T12:00:05Z"], ["r1:6", "r1:7"]),
        (["--until", "2026-01-31T12:00:01Z"], ["r1:1"]),
        (["--since", "1s"], []),
        (["--since", "100000d", "-n", "2"], ["r1:6", "r1:7"]),
        (["-n", "0"], []),
    ],
)
def test_show_finds_what_is_looked_for(folder: Path, args: list[str], expected: list[str]) -> None:
    """Filters narrow down what is shown; together they all have to hold."""
    assert seqs(folder, *args) == expected


def test_show_says_of_a_target_what_was_decided_of_it(folder: Path) -> None:
    """A person who looks for one target reads of that one."""
    done = tidegate("show", "--target", "east-1", "--kind", "decided", cwd=folder)
    assert done.stdout.splitlines()[1].endswith("mutex wait MutexHeld")


def test_show_gives_data(folder: Path) -> None:
    """JSON and YAML hold the fact itself, and its hash."""
    data = json.loads(tidegate("show", "-n", "1", "-o", "json", cwd=folder).stdout)
    (item,) = data["items"]
    assert data["kind"] == "EntryList"
    assert item["fact"]["verb"] == "approve"
    assert (item["seq"], item["at"], len(item["hash"])) == (7, "2026-01-31T13:00:00Z", 32)
    assert "verb: approve" in tidegate("show", "-n", "1", "-o", "yaml", cwd=folder).stdout


def test_show_survives_a_fact_it_does_not_know(folder: Path) -> None:
    """A journal of a newer Tidegate can be looked at."""
    tamper(folder, """UPDATE journal_entries SET body = '{"is":"dreamt"}' WHERE kind = 'asked'""")
    done = tidegate("show", "-n", "1", cwd=folder)
    assert done.returncode == 0
    assert "does not know" in done.stdout


def test_watching_shows_what_is_written_and_ends_quietly(folder: Path) -> None:
    """-w goes on: new entries, of new partitions too, within half a second; Ctrl-C exits 130."""
    assert POLL_S < 0.5
    command = [sys.executable, "-m", "tidegate", "journal", "show", "-n", "1", "-w", "-o", "json"]
    with subprocess.Popen(command, cwd=folder, env=clean(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["seq"] == 7
        store = open_store(str(folder / "tidegate.db"))
        for partition in ("policies/r1", "new"):
            head = store.append(partition, story()[:1])
            shown = json.loads(process.stdout.readline())
            assert (shown["partition"], shown["seq"]) == (partition, head.seq)
        store.close()
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(timeout=PATIENCE_S) == 130
        finally:
            process.kill()  # where SIGINT is ignored, as under nohup: fail, do not hang


# verify


def test_verify_says_that_all_is_well(folder: Path) -> None:
    """Every chain, how long it is and how it ends."""
    done = tidegate("verify", cwd=folder)
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [(row[0], row[1], row[-1]) for row in rows[1:]] == [
        ("brakes", "1", "ok"),
        ("policies/r1", "7", "ok"),
    ]


@pytest.mark.parametrize(
    "statement, words",
    [
        ("UPDATE journal_entries SET actor = 'eve' WHERE seq = 3", "entry 3 was changed"),
        ("DELETE FROM journal_entries WHERE seq = 3", "entry 3 is missing"),
        ("DELETE FROM journal_entries WHERE seq = 7", "entry 7 is missing"),
    ],
)
def test_verify_names_the_first_entry_that_does_not_hold(
    folder: Path, statement: str, words: str
) -> None:
    """Tampering exits 1, with the entry, on the table and in data."""
    tamper(folder, statement)
    done = tidegate("verify", cwd=folder)
    assert done.returncode == 1
    assert words in done.stdout
    data = json.loads(tidegate("verify", "-o", "json", cwd=folder).stdout)
    assert [item["ok"] for item in data["items"]] == [True, False]
    assert words in data["items"][1]["broken"]["what"]


# export, import, backup


def test_a_journal_is_exported_and_imported_whole(folder: Path, tmp_path: Path) -> None:
    """Through a pipe or a file, into a new journal: the same chains, entries and claims."""
    exported = tidegate("export", cwd=folder)
    assert exported.returncode == 0
    written = tidegate("export", "journal.jsonl", cwd=folder)
    assert (written.returncode, written.stderr) == (0, "wrote journal.jsonl\n")
    assert (folder / "journal.jsonl").read_text() == exported.stdout
    other = tmp_path / "other"
    other.mkdir()
    done = tidegate("import", "-", cwd=other, stdin=exported.stdout)
    assert done.returncode == 0
    assert "imported 2 partitions, 8 entries, 1 claim" in done.stderr
    assert dump(other) == dump(folder)
    again = tidegate("import", "-", cwd=other, stdin=exported.stdout)
    assert again.returncode == 2
    assert "partition brakes has 1 entry here; import into a journal without it" in again.stderr


def test_a_broken_export_is_not_imported(folder: Path, tmp_path: Path) -> None:
    """The line that does not hold is named, nothing is written, and the exit code is 2."""
    text = tidegate("export", cwd=folder).stdout.replace("database down", "database fine")
    other = tmp_path / "other"
    other.mkdir()
    for args in (["import", "-"], ["import", "-", "--dry-run"]):
        done = tidegate(*args, cwd=other, stdin=text)
        assert done.returncode == 2
        assert "line 3: partition brakes: entry 1 was changed" in done.stderr
        assert "nothing was imported" in done.stderr
    assert dump(other) == []


def test_a_dry_run_imports_nothing(folder: Path, tmp_path: Path) -> None:
    """It checks all of it, and does not even make a file."""
    other = tmp_path / "other"
    other.mkdir()
    text = tidegate("export", cwd=folder).stdout
    done = tidegate("import", "-", "--dry-run", cwd=other, stdin=text)
    assert done.returncode == 0
    assert "could import 2 partitions, 8 entries, 1 claim" in done.stderr
    assert list(other.iterdir()) == []


def test_a_backup_is_imported_like_an_export(folder: Path, tmp_path: Path) -> None:
    """The file of a journal can be verified, looked at, and imported elsewhere."""
    done = tidegate("backup", "copy.db", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "wrote copy.db\n")
    assert tidegate("verify", "--database", "copy.db", cwd=folder).returncode == 0
    assert tidegate("backup", "copy.db", cwd=folder).returncode == 2
    other = tmp_path / "other"
    other.mkdir()
    assert tidegate("import", str(folder / "copy.db"), cwd=other).returncode == 0
    assert dump(other) == dump(folder)


def test_a_tampered_backup_is_not_imported(folder: Path, tmp_path: Path) -> None:
    """A database is held to the same as a file of lines."""
    tamper(folder, "UPDATE journal_entries SET actor = 'eve' WHERE seq = 3")
    other = tmp_path / "other"
    other.mkdir()
    done = tidegate("import", str(folder / "tidegate.db"), cwd=other)
    assert done.returncode == 2
    assert "policies/r1: entry 3 was changed" in done.stderr
    assert dump(other) == []


# compact


def state(folder: Path) -> RolloutState:
    """The state of the rollout, folded from what the journal has."""
    folded = RolloutState()
    store = open_store(str(folder / "tidegate.db"), writes=False)
    for entry in store.read("policies/r1"):
        folded = fold(folded, entry.at, entry.fact(), entry.actor)
    store.close()
    return folded


def test_compaction_drops_entries_and_keeps_the_state(folder: Path) -> None:
    """What is old goes, the fold over what is left is the same, and the chain still holds."""
    before = state(folder)
    done = tidegate("compact", "--keep", "2026-01-31T12:00:04Z", "--yes", cwd=folder)
    assert done.returncode == 0
    assert done.stderr == "policies/r1: 4 of 7 entries go for good, the state stays\n"
    assert seqs(folder, "-p", "policies/r1") == ["r1:5", "r1:6", "r1:7", "r1:8"]
    assert state(folder) == before
    assert tidegate("verify", cwd=folder).returncode == 0
    assert tidegate("compact", "--keep", "0s", "--yes", cwd=folder).returncode == 0
    assert seqs(folder, "-p", "policies/r1") == ["r1:9"]
    assert state(folder) == before


def test_compaction_leaves_alone_what_is_no_rollout(folder: Path) -> None:
    """Brakes are not in a rollout's state, so they are never dropped in favour of one."""
    done = tidegate("compact", "brakes", "--keep", "0s", cwd=folder)
    assert done.returncode == 2
    assert "brakes: not a rollout; its facts are kept" in done.stderr
    tidegate("compact", "--keep", "0s", "--yes", cwd=folder)
    assert seqs(folder, "-p", "brakes") == ["es:1"]


def test_a_dry_run_drops_nothing(folder: Path) -> None:
    """It says what would go."""
    done = tidegate("compact", "--keep", "0s", "--dry-run", cwd=folder)
    assert done.stderr == "policies/r1: 7 of 7 entries go for good, the state stays\n"
    assert len(seqs(folder)) == 8
    young = tidegate("compact", "--keep", "36500d", cwd=folder)
    assert young.stderr == "nothing is old enough to be dropped\n"


def test_a_broken_chain_is_not_compacted(folder: Path) -> None:
    """Evidence is not thrown away."""
    tamper(folder, "UPDATE journal_entries SET actor = 'eve' WHERE seq = 3")
    done = tidegate("compact", "--keep", "0s", cwd=folder)
    assert done.returncode == 1
    assert "entry 3 was changed, or the one before it; nothing was dropped" in done.stderr
    assert len(seqs(folder)) == 8


# Manners


@pytest.mark.parametrize(
    "args, words",
    [
        (["shwo"], 'did you mean "show"?'),
        (["show", "-p", "policies/r2"], 'did you mean "policies/r1"?'),
        (["show", "--gate", "mutx"], 'did you mean "mutex"?'),
        (["show", "--since", "yesterday"], "like 90m, 3d12h or 2026-01-31T12:00:00Z"),
        (["show", "--kind", "dreamt"], "'declared'"),
        (["show", "--database", "none.db"], "none.db: no such journal"),
        (["verify", "--database", "."], "is a directory"),
        (["verify", "--database", "mysql://x/y"], "no journal is kept in mysql"),
        (["import", "none.jsonl"], "none.jsonl"),
        (["compact", "policies/r9", "--keep", "0s"], "did you mean"),
    ],
)
def test_mistakes_exit_2_and_say_what_to_write(folder: Path, args: list[str], words: str) -> None:
    """A mistake is one readable message, and changes nothing."""
    done = tidegate(*args, cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "none.db").exists()


@pytest.mark.parametrize("command", ["", "show", "verify", "export", "import", "backup", "compact"])
def test_help_has_examples(tmp_path: Path, command: str) -> None:
    """Every command's help begins with something to paste."""
    done = tidegate(*command.split(), "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "\nExamples:\n  tidegate journal " in done.stdout


def test_the_environment_names_the_journal(folder: Path, tmp_path: Path) -> None:
    """TIDEGATE_DATABASE is what --database says where it says nothing."""
    other = tmp_path / "other"
    other.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", "journal", "verify"],
        env={**clean(), "TIDEGATE_DATABASE": str(folder / "tidegate.db")},
        cwd=other,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "policies/r1" in done.stdout


def test_a_server_that_is_not_there_is_no_bug(tmp_path: Path) -> None:
    """Another system failed: that is said in one line, exit 1."""
    address = f"postgresql://tidegate:secret@/none?host={tmp_path}"
    done = tidegate("verify", "--database", address, cwd=tmp_path)
    assert done.returncode == 1
    assert "No such file or directory" in done.stderr
    assert "bug" not in done.stderr
    assert "secret" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_narrow_terminal_cuts_no_column_away(folder: Path) -> None:
    """At 60 columns, what happened is on a line below who did it, and is not an ellipsis."""
    wide = tidegate("show", cwd=folder).stdout.splitlines()
    done = command.tidegate("journal", "show", cwd=folder, env={**clean(), "COLUMNS": "60"})
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert len(lines) == 2 * len(wide)
    assert "hold outage set: database down" in done.stdout
    assert all(line.startswith("    ") for line in lines[1::2])
