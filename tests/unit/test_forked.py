"""Forked processes are started, told and ended as those of `subprocess.Popen` are."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.forked import TIDEGATE, Forked
from tests.patience import PATIENCE_S, is_gone


def test_it_runs_in_its_folder_and_environment(tmp_path: Path) -> None:
    """As a whole process does: the same output and exit code, on the streams that were given."""
    (tmp_path / "tidegate.yaml").write_text("resync: 50s\n", encoding="utf-8")
    words = [*TIDEGATE, "config", "view", "--show-origin"]
    env = {"PATH": os.environ["PATH"], "TIDEGATE_GRACE": "7s", "COLUMNS": "100"}
    pipe = subprocess.PIPE
    with Forked[str](words, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True) as forked:
        said = forked.communicate(timeout=PATIENCE_S)
    whole = subprocess.run(
        words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert said == (whole.stdout, whole.stderr)
    assert forked.returncode == whole.returncode == 0
    assert "TIDEGATE_GRACE" in said[0]
    assert "50s" in said[0]


def test_it_reads_what_is_sent_and_fails_as_it_must() -> None:
    """Standard input is the test's pipe; a code other than 0 arrives; both outputs may be one."""
    with Forked[str](
        [*TIDEGATE, "decide", "rollout"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        said, _ = process.communicate("no JSON\n", timeout=PATIENCE_S)
    assert "error" in said
    with Forked[bytes]([*TIDEGATE, "nonsense"], stderr=subprocess.DEVNULL) as process:
        assert process.wait(PATIENCE_S) == 2
        assert process.poll() == 2


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_ends_it_and_only_it(how: signal.Signals) -> None:
    """Two wait for their input; one is killed, and the other goes on."""
    both = [
        Forked[bytes](
            [*TIDEGATE, "decide", "rollout"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        for _ in range(2)
    ]
    killed, other = both
    with killed, other:
        assert killed.poll() is None
        killed.send_signal(how)
        assert killed.wait(PATIENCE_S) == -how
        assert is_gone(killed.pid)
        assert other.poll() is None
        other.communicate(timeout=PATIENCE_S)
        assert other.returncode == 0
