"""A local command as a runner: its words are a template, filled in for each run.

    python -m reconcile {integration} {arguments} --image {image}

`{arguments}` as a word of its own becomes as many words as there are arguments. Nothing goes
through a shell. The variables of a shard are in the environment of the command.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping

from tidegate.kinds.integrations.client.runners.process import GRACE_S, run_process
from tidegate.kinds.integrations.dry_runs_port import DryRunRequest, Tell
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, nearest_or_all

_PLACE = re.compile(r"\{(\w*)\}")
_NAMES = ("integration", "shard", "image", "revision", "arguments", "data")
# Where a run finds the bundle, in every runner.
DATA_VARIABLE = "TIDEGATE_DATA"


class CommandRunner:
    """Runs a command here."""

    reads_data = True

    def __init__(
        self,
        template: str,
        environment: Mapping[str, str] | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        self._words = _words(template)
        self._grace_s = grace_s
        self._environment = dict(os.environ if environment is None else environment)

    async def run(self, dry_run: DryRunRequest, said: Tell, noted: Tell) -> int:
        """Run it; its output is what it says."""
        words = list(filled(self._words, dry_run))
        noted(f"+ {shlex.join(words)}")
        variables = {**self._environment, **dry_run.input.variables}
        if dry_run.data:
            variables[DATA_VARIABLE] = dry_run.data
        return await run_process(words, variables, said, self._grace_s)

    async def close(self) -> None:
        """It holds nothing."""


def filled(words: tuple[str, ...], dry_run: DryRunRequest) -> Iterator[str]:
    """The words of a template for one run."""
    values = {
        "integration": dry_run.integration,
        "shard": dry_run.shard,
        "image": dry_run.input.image,
        "revision": dry_run.input.revision,
        "arguments": dry_run.input.arguments,
        "data": dry_run.data,
    }
    for word in words:
        if word == "{arguments}":
            yield from _split(dry_run.input.arguments)
        else:
            yield _PLACE.sub(lambda found: values[found[1]], word)


def _split(arguments: str) -> list[str]:
    """Words as a shell splits them; what no shell would take is one word as it stands."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return [arguments]


def _words(template: str) -> tuple[str, ...]:
    """The words of a template; UserError if one cannot be filled in."""
    try:
        words = tuple(shlex.split(template))
    except ValueError as error:
        problem = Problem("check.command", f"{str(error).lower()}: {template}", "close the quote")
        raise UserError((problem,)) from None
    if not words:
        raise UserError((Problem("check.command", "no command", "write --command 'PROGRAM …'"),))
    names = (name for word in words for name in _PLACE.findall(word))
    for name in names:
        if name not in _NAMES:
            hint = nearest_or_all(name, _NAMES)
            raise UserError((Problem("check.command", f'nothing is called "{{{name}}}"', hint),))
    return words
