"""Runners for real: commands that speak, fail, hang, flood and leave children; containers by argv.

No container daemon is needed: a stand-in program writes down what it is asked, and answers as both
`docker` and `podman` document it. What it cannot show is what a real daemon does with it.
"""

import asyncio
import os
import stat
from functools import partial
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S, is_gone, until
from tidegate.kinds.integrations.client.runners.command import CommandRunner
from tidegate.kinds.integrations.client.runners.container import ContainerRunner
from tidegate.kinds.integrations.client.runners.process import LINE_BYTES_MAX
from tidegate.kinds.integrations.core.review.affected import Input
from tidegate.kinds.integrations.dry_runs_port import DryRunRequest, MissingError, Runner
from tidegate.model.errors import OutsideError, UserError
from tidegate.wiring import outside

IMAGE = "quay.io/it/it:f929a38"


def _script(folder: Path, text: str, name: str = "it") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _dry_run(arguments: str = "", data: str = "", **variables: str) -> DryRunRequest:
    given = Input(
        image=IMAGE,
        revision="f929a38",
        arguments=arguments,
        variables=variables,
        secrets=("TOKEN", "UNSET"),
    )
    return DryRunRequest(integration="dns", shard="dns/one", input=given, data=data, key="abc")


def _run(
    runner: Runner, dry_run: DryRunRequest | None = None, time_s: float = PATIENCE_S
) -> tuple[int, list[str], list[str]]:
    said: list[str] = []
    noted: list[str] = []

    async def running() -> int:
        async with asyncio.timeout(time_s):
            return await runner.run(dry_run or _dry_run(), said.append, noted.append)

    return asyncio.run(running()), said, noted


def _cut_off(runner: Runner) -> None:
    """Begin a run, and lose patience with it once it has said something."""

    async def running() -> None:
        begun = asyncio.Event()
        run = runner.run(_dry_run(), lambda _: begun.set(), lambda _: None)
        task = asyncio.create_task(run)
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(running())


def test_a_command_is_shown_everything_in_its_words_and_its_environment(tmp_path: Path) -> None:
    it = _script(
        tmp_path, 'for each in "$@"; do echo "<$each>"; done\necho $SHARD_KEY $TIDEGATE_DATA'
    )
    runner = CommandRunner(f"{it} {{integration}} --image={{image}} {{arguments}} end")
    dry_run = _dry_run("--account-name 'a b; echo no'", data="/there", SHARD_KEY="one")
    code, said, noted = _run(runner, dry_run)
    assert code == 0
    assert said == [
        "<dns>",
        f"<--image={IMAGE}>",
        "<--account-name>",
        "<a b; echo no>",
        "<end>",
        "one /there",
    ]
    assert noted == [f"+ {it} dns --image={IMAGE} --account-name 'a b; echo no' end"]


def test_both_outputs_are_heard_and_the_exit_code_is_its_own(tmp_path: Path) -> None:
    it = _script(tmp_path, "echo out\necho err >&2\nprintf last\nexit 7")
    code, said, _ = _run(CommandRunner(str(it)))
    assert (code, sorted(said)) == (7, ["err", "last", "out"])


def test_what_is_no_text_is_made_harmless(tmp_path: Path) -> None:
    it = _script(tmp_path, r"printf 'a\033[31mred\033[0m\r\n\000\001\377\n\tx\n'")
    assert _run(CommandRunner(str(it)))[1] == ["ared", "���", "\tx"]


def test_a_flood_without_lines_is_reported_in_parts_and_a_flood_of_lines_is_read(
    tmp_path: Path,
) -> None:
    """A program that writes much is not held up: all is read, and no part is longer than a line."""
    it = _script(tmp_path, "head -c 1000000 /dev/zero | tr '\\0' x\necho\nseq 100000")
    code, said, _ = _run(CommandRunner(str(it)))
    assert code == 0
    long, lines = [each for each in said if each[:1] == "x"], said[-100_000:]
    assert sum(map(len, long)) == 1_000_000
    assert max(map(len, long)) <= LINE_BYTES_MAX * 5
    assert lines[-1] == "100000"


def test_a_command_that_hangs_ends_with_all_its_children(tmp_path: Path) -> None:
    """Even if they will not go when asked."""
    ids = tmp_path / "ids"
    it = _script(
        tmp_path,
        f"trap '' TERM\n(trap '' TERM; sleep 600) &\necho $$ $! > {ids}\necho begun\nsleep 600",
    )
    _cut_off(CommandRunner(str(it), grace_s=0.2))
    for each in ids.read_text().split():
        until(partial(is_gone, int(each)), f"{each} is gone")


def test_a_child_that_keeps_the_output_open_does_not_keep_us(tmp_path: Path) -> None:
    it = _script(tmp_path, "echo begun\nsleep 600 &\nexit 3")
    code, said, _ = _run(CommandRunner(str(it)), time_s=PATIENCE_S)
    assert (code, said) == (3, ["begun"])


def test_a_program_that_is_not_there_is_the_fault_of_its_settings(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such program"):
        _run(CommandRunner(str(tmp_path / "nobody")))
    (tmp_path / "text").write_text("no program\n")
    with pytest.raises(MissingError):
        _run(CommandRunner(str(tmp_path / "text")))


@pytest.mark.parametrize(
    "template, words",
    [
        ("", "no command"),
        ("it 'open", "no closing quotation"),
        ("it {imgae}", 'nothing is called "{imgae}"; did you mean "image"?'),
    ],
)
def test_a_template_that_cannot_be_filled_in_is_refused(template: str, words: str) -> None:
    with pytest.raises(UserError, match=words.replace("?", r"\?")):
        CommandRunner(template)


DOCKER = """
echo "$@" >> {log}
case "$1" in
image) [ -f {there} ] && exit 0; exit 1 ;;
pull) {pull} ;;
run) {run} ;;
rm) touch {removed} ;;
esac
"""


def _docker(
    folder: Path, run: str = "echo ran", pull: str = "touch {there}; echo 'Status: Downloaded'"
) -> tuple[ContainerRunner, Path]:
    names = {name: folder / name for name in ("log", "there", "removed")}
    text = DOCKER.format(**names, run=run, pull=pull.format(**names))
    program = _script(folder, text, "docker")
    environment = {"PATH": os.environ["PATH"], "TOKEN": "hidden"}
    return ContainerRunner(str(program), ["--network=none"], environment), names["log"]


def test_a_container_is_run_once_with_its_data_read_only_and_no_secret_in_sight(
    tmp_path: Path,
) -> None:
    """What stands on the command line, word by word."""
    runner, log = _docker(tmp_path, run='echo "$TOKEN"')
    dry_run = _dry_run(data="/bundle", INTEGRATION_NAME="dns", DRY_RUN="--dry-run")
    code, said, noted = _run(runner, dry_run)
    assert (code, said) == (0, ["hidden"])
    assert noted == [f"Unable to find image '{IMAGE}' locally", "Status: Downloaded"]
    inspect, pull, run = log.read_text().splitlines()
    assert inspect == f"image inspect --format {{{{.Id}}}} {IMAGE}"
    assert pull == f"pull {IMAGE}"
    assert run == (
        "run --rm --name tidegate-check-abc --pull never --env INTEGRATION_NAME=dns "
        "--env DRY_RUN=--dry-run --env TOKEN --env TIDEGATE_DATA=/data "
        f"--volume /bundle:/data:ro --network=none {IMAGE}"
    )
    assert "hidden" not in log.read_text()


def test_an_image_is_had_once_for_all_who_want_it(tmp_path: Path) -> None:
    runner, log = _docker(tmp_path, pull="sleep 0.2; touch {there}")

    async def several() -> None:
        tell: list[str] = []
        await asyncio.gather(*(runner.run(_dry_run(), tell.append, tell.append) for _ in range(3)))

    asyncio.run(several())
    verbs = [line.split()[0] for line in log.read_text().splitlines()]
    assert sorted(verbs) == ["image", "pull", "run", "run", "run"]


def test_an_image_that_cannot_be_had_is_nobodys_fault_here(tmp_path: Path) -> None:
    runner, _ = _docker(tmp_path, pull="echo 'manifest unknown'; exit 1")
    with pytest.raises(OutsideError, match=f"{IMAGE} cannot be had: manifest unknown") as caught:
        _run(runner)
    assert not isinstance(caught.value, MissingError)


def test_no_daemon_is_the_fault_of_the_setup(tmp_path: Path) -> None:
    answer = "echo 'Cannot connect to the Docker daemon. Is the docker daemon running?'; exit 1"
    runner, _ = _docker(tmp_path, pull=answer)
    with pytest.raises(MissingError, match="cannot be used: Cannot connect to the Docker daemon"):
        _run(runner)


def test_their_own_failure_is_distinguished_from_that_of_what_they_run(tmp_path: Path) -> None:
    runner, _ = _docker(tmp_path, run="echo 'no space left on device'; exit 125")
    with pytest.raises(OutsideError, match=r"could not run .*: no space left on device"):
        _run(runner)
    assert _run(_docker(tmp_path, run="exit 4")[0])[0] == 4


def test_a_container_that_takes_too_long_is_removed(tmp_path: Path) -> None:
    """Killing the caller does not end a container."""
    runner, log = _docker(tmp_path, run="echo begun; sleep 600")
    _cut_off(runner)
    assert log.read_text().splitlines()[-1] == "rm --force tidegate-check-abc"
    assert (tmp_path / "removed").exists()


def test_the_first_runner_there_is_is_taken_and_none_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="no podman and no docker here; write --command"):
        outside.runner("auto")
    with pytest.raises(MissingError, match="no docker here"):
        outside.runner("docker")
    assert isinstance(outside.runner("auto", "it"), CommandRunner)
    _script(tmp_path, "", "docker")
    assert isinstance(outside.runner("auto"), ContainerRunner)
