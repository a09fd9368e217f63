"""The command line as people and programs meet it: real processes, real exit codes."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests import command
from tests.patience import PATIENCE_S
from tidegate.cli.main import cli
from tidegate.cli.shape import context_below

ROOT = Path(__file__).parents[2]
STATE = ROOT / "examples" / "state.yaml"
DEMO = ROOT / "examples" / "demo.yaml"
LINE = (ROOT / "examples" / "line.jsonl").read_text(encoding="utf-8")


def tidegate(
    *args: str, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command with nothing of ours in the environment."""
    clean = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "CI")}
    return command.tidegate(*args, stdin=stdin, env={**clean, **(env or {})}, cwd=ROOT)


def test_a_malformed_line_says_its_number_and_stops_nothing() -> None:
    """Line 7 is broken: it says so, the others are answered, and the exit code is 2."""
    lines = [LINE] * 6 + ["{broken\n"] + [LINE] * 3
    done = tidegate("decide", "rollout", stdin="".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2
    assert len(answers) == 10
    assert answers[6]["line"] == 7
    assert "line 7: not JSON" in answers[6]["error"]
    assert "line 7" in done.stderr
    assert all(answer["start"] == ["c3"] for at, answer in enumerate(answers) if at != 6)


@pytest.mark.parametrize("mode", ["strict", "compat", "both"])
def test_every_mode_answers(mode: str) -> None:
    """Each mode answers a healthy line with exit 0."""
    done = tidegate("decide", "rollout", "--mode", mode, stdin=LINE)
    assert done.returncode == 0
    assert json.loads(done.stdout)["id"] == "r1"


def test_both_names_the_difference_and_its_reason() -> None:
    """The library starts prod beside stage after a timeout; strict holds it and says why."""
    done = tidegate("decide", "rollout", "--mode", "both", stdin=LINE)
    (difference,) = json.loads(done.stdout)["differences"]
    assert difference["cluster"] == "c4"
    assert (difference["strict"], difference["compat"]) == (False, True)
    assert difference["reason"] == "EarlierGroupUnfinished"


def test_all_problems_come_at_once_with_path_value_and_remedy() -> None:
    """A document with many mistakes is refused once, with all of them."""
    bad = json.loads(LINE)
    bad["now"] = "noon"
    bad["strategy"] = {
        "type": "Progressive",
        "progressive": {
            "maxConcurrency": "3",
            "maxFailures": -1,
            "progressDeadline": "0s",
            "maxConcurency": 3,
        },
    }
    done = tidegate("decide", "rollout", stdin=json.dumps(bad) + "\n")
    answer = json.loads(done.stdout)
    assert done.returncode == 2
    paths = [problem["path"] for problem in answer["problems"]]
    body = "strategy.progressive."
    assert paths == [
        "now",
        f"{body}progressDeadline",
        f"{body}maxFailures",
        f"{body}maxConcurrency",
        f"{body}maxConcurency",
    ]
    assert all(problem["remedy"] for problem in answer["problems"])
    assert answer["start"] == []


def test_ten_thousand_lines_stream_without_growing() -> None:
    """The filter's memory after 10,000 lines is what it was after 1,000, within noise."""

    def peak_kib(count: int) -> int:
        code = (
            "import sys, resource; sys.argv = ['tidegate', 'decide', 'rollout'];"
            "from tidegate.cli.main import main\n"
            "try: main()\n"
            "except SystemExit: pass\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=LINE * count,
            capture_output=True,
            text=True,
            check=True,
        )
        assert len(done.stdout.splitlines()) == count
        return int(done.stderr.split()[-1])

    assert resource.RUSAGE_SELF == 0
    assert peak_kib(10_000) <= peak_kib(1_000) * 1.1


def test_a_coprocess_gets_its_answer_before_it_sends_more() -> None:
    """A program may keep the filter running: each line is answered at once."""
    with subprocess.Popen(
        [sys.executable, "-m", "tidegate", "decide", "rollout"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(LINE)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == "r1"
        process.stdin.close()
        assert process.wait(timeout=PATIENCE_S) == 0


def test_a_reader_that_leaves_early_is_no_traceback() -> None:
    """`| head -1` ends the filter quietly."""
    done = subprocess.run(
        f"yes '{LINE.strip()}' | head -999 | {sys.executable} -m tidegate decide rollout | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr


def test_help_imports_nothing_heavy() -> None:
    """`--help` is fast because it loads nothing it does not show."""
    code = (
        "import sys; sys.argv = ['tidegate', '--help']\n"
        "from tidegate.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    ours = [name for name in loaded if name.startswith("tidegate")]
    assert ours == ["tidegate", "tidegate.cli", "tidegate.cli.shape", "tidegate.cli.main"]
    assert not [name for name in loaded if name in ("yaml", "msgspec", "asyncio", "random")]


@pytest.mark.parametrize(
    "args, words",
    [
        (["wy"], 'did you mean "why"?'),
        (["explain", "prod-eu-1"], 'no command "explain"; did you mean "why"?'),
        (["delete", "hold", "inc-42"], 'no command "delete"; did you mean "hold remove"?'),
        (["help", "rollback"], 'no topic or command "rollback"; did you mean "abort"?'),
        (["why", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["why", "examples"], "a directory"),
        (["why", str(STATE), "prod-eu-9"], "did you mean"),
        (["why", str(STATE), "--now", "noon"], "like 2026-01-31T12:00:00Z"),
        (["simulate", str(STATE)], "unknown field"),
        (["decide", "rollout", "--mode", "loose"], "strict"),
    ],
)
def test_mistakes_exit_2_and_say_what_to_write(args: list[str], words: str) -> None:
    """A mistake is one readable message, never a traceback."""
    done = tidegate(*args)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_words_of_other_tools_are_answered_with_commands_that_exist() -> None:
    """A word that is used elsewhere is no command here, and what is offered for it is one."""
    context = click.Context(cli, **cli.context_settings)
    for word, ours in cli.elsewhere.items():
        assert cli.get_command(context, word) is None, word
        found = context
        for each in ours.split():
            below = context_below(found, each)
            assert below is not None, ours
            found = below


def test_problems_of_a_file_carry_their_line(tmp_path: Path) -> None:
    """A wrong value in YAML is found by file, line and column."""
    text = STATE.read_text(encoding="utf-8").replace("maxFailures: 0", 'maxFailures: "3"')
    file = tmp_path / "state.yaml"
    file.write_text(text, encoding="utf-8")
    done = tidegate("why", str(file))
    line = next(i for i, each in enumerate(text.splitlines(), 1) if "maxFailures" in each)
    assert done.returncode == 2
    assert f"{file}:{line}:" in done.stderr
    assert "strategy.progressivePerGroup.maxFailures" in done.stderr


def test_why_answers_json_and_yaml() -> None:
    """The same verdicts come as data."""
    found = json.loads(tidegate("why", str(STATE), "prod-eu-1", "-o", "json").stdout)
    assert (found["kind"], found["target"]["state"]) == ("TargetDetails", "Waiting")
    (option,) = found["target"]["options"]
    reasons = {each["gate"]: each["reason"] for each in option["verdicts"]}
    assert reasons["order"] == "EarlierGroupUnfinished"
    assert "reason: EarlierGroupUnfinished" in tidegate("why", str(STATE), "-o", "yaml").stdout


def test_colour_obeys_flag_and_environment() -> None:
    """No colour in a pipe or with NO_COLOR; colour when forced; the flag wins."""
    plain = tidegate("why", str(STATE)).stdout
    assert "\x1b[" not in plain
    assert "\x1b[" in tidegate("why", str(STATE), env={"FORCE_COLOR": "1"}).stdout
    both = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert "\x1b[" not in tidegate("why", str(STATE), env=both).stdout
    assert "\x1b[" in tidegate("why", str(STATE), "--color", "always", env=both).stdout


@pytest.mark.parametrize("width", [60, 100])
def test_tables_fit_the_terminal(width: int) -> None:
    """No line of a table is wider than the terminal."""
    for args in (("why", str(STATE)), ("simulate", "examples/rollout.yaml")):
        done = tidegate(*args, env={"COLUMNS": str(width)})
        tables = [line for line in done.stdout.splitlines() if "·" not in line or "GROUP" in line]
        assert max(len(line) for line in tables) <= width


def test_the_demo_tells_its_story() -> None:
    """Canary, stage, failure, stop, rollback: and production never saw it."""
    done = tidegate("simulate", str(DEMO), "--story", "--why", "app-sre")
    assert done.returncode == 0
    for words in ("▶ canary", "✗ stage  app-sre-stage", "20 never saw it", "25 of 25 on stable"):
        assert words in done.stdout
    assert "✗ budget" in done.stdout


def test_a_revision_that_ends_as_the_next_begins_is_the_one_that_is_completed() -> None:
    """With its own name and its own targets."""
    document = {
        "revision": "v2",
        "lastGood": "v1",
        "groups": [{"name": each, "clusters": [each]} for each in ("dev", "prod")],
        "strategy": {"type": "ProgressivePerGroup"},
        "events": [{"at": "15m", "revision": "v3"}],
    }
    done = tidegate("simulate", "-", "--story", stdin=json.dumps(document))
    assert "✓ completed: 2 on v2" in done.stdout
    assert "completed: 0" not in done.stdout


def test_a_simulation_is_repeatable_by_its_seed(tmp_path: Path) -> None:
    """The same seed tells the same story; another one may not."""
    text = DEMO.read_text(encoding="utf-8").replace("fleet:", "fleet:\n  failureRate: 30%")
    file = tmp_path / "random.yaml"
    file.write_text(text.replace("onFailure: rollback", "onFailure: pause"), encoding="utf-8")
    runs = [tidegate("simulate", str(file), "--seed", seed, "-o", "json") for seed in "112"]
    records = [json.loads(run.stdout) for run in runs]
    assert records[0] == records[1]
    assert {**records[0], "seed": 0} != {**records[2], "seed": 0}


def test_check_exits_3_unless_the_rollout_succeeds() -> None:
    """A pipeline can rehearse a rollout and stop on what it shows."""
    assert tidegate("simulate", str(DEMO), "--check").returncode == 3
    assert tidegate("simulate", "examples/rollout.yaml", "--check").returncode == 0


def test_the_picture_is_well_formed_and_escaped(tmp_path: Path) -> None:
    """The SVG parses, whatever a scenario is called."""
    from xml.etree import ElementTree

    file = tmp_path / "odd.yaml"
    text = DEMO.read_text(encoding="utf-8").replace("name: terraform-resources", 'name: "<&>"', 1)
    file.write_text(text, encoding="utf-8")
    picture = tmp_path / "odd.svg"
    assert tidegate("simulate", str(file), "--svg", str(picture)).returncode == 0
    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    assert len(root) > 20


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_command(shell: str) -> None:
    """Each shell gets a script that calls back into tidegate."""
    done = tidegate("completion", shell)
    assert done.returncode == 0
    assert "_TIDEGATE_COMPLETE" in done.stdout


def test_completion_offers_the_commands() -> None:
    """Pressing tab after `tidegate w` offers `why`."""
    env = {"_TIDEGATE_COMPLETE": "bash_complete", "COMP_WORDS": "tidegate w", "COMP_CWORD": "1"}
    done = subprocess.run(
        [str(Path(sys.executable).parent / "tidegate")],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "plain,why" in done.stdout
