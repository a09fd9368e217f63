"""`tidegate` run in this process as if it were one of its own: arguments, folder, environment.

A process of its own spends up to a second on imports, longer than most commands take. What is about
processes (signals, pipes, start-up, what is imported) still starts one: `tests/cli/test_cli.py`.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO

import pytest

from tidegate.cli.main import main

# As it is installed beside this Python: what tells people how to go on looks at its own name.
PROGRAM = str(Path(sys.executable).parent / "tidegate")
# What a shell gives a meaning to, outside quotes. A line without any is one command and its words.
_OF_SHELLS = re.compile(r"[|&;<>()$`*?\[\]~{}!\\]|^[A-Z_]+=")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"| #.*")


def tidegate(
    *arguments: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    merged: bool = False,
) -> CompletedProcess[str]:
    """What the command prints and how it ends; `merged`: stderr goes where stdout goes.

    None: the folder, the environment that this process has.
    """
    argv = [PROGRAM, *arguments]
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryFile("w+", encoding="utf-8") as given,
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        given.write(stdin)
        given.seek(0)
        streams = {"stdin": given, "stdout": out, "stderr": out if merged else err}
        for name, value in {"argv": argv, **streams}.items():
            patch.setattr(sys, name, value)
        if cwd is not None:
            patch.chdir(cwd)
        if env is not None:
            _set(patch, env)
        return CompletedProcess(argv, _code(), _written(out), _written(err))


def typed(
    line: str, cwd: Path, env: Mapping[str, str], *, merged: bool = True
) -> CompletedProcess[str]:
    """A line as people type it; a shell runs what needs one."""
    words = [] if _OF_SHELLS.search(_QUOTED.sub("", line)) else shlex.split(line, comments=True)
    if words[:1] == ["tidegate"]:
        return tidegate(*words[1:], cwd=cwd, env=env, merged=merged)
    return subprocess.run(
        line, shell=True, cwd=cwd, env=env, text=True, check=False, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT if merged else subprocess.PIPE,
    )  # fmt: skip


def _set(patch: pytest.MonkeyPatch, env: Mapping[str, str]) -> None:
    for name in set(os.environ) - set(env):
        patch.delenv(name)
    for name, value in env.items():
        patch.setenv(name, value)


def _code() -> int:
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def _written(file: IO[str]) -> str:
    file.flush()
    file.seek(0)
    return file.read()
