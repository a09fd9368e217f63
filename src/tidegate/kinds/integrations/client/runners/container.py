"""A container as a runner: `podman run` or `docker run`, with the bundle mounted read-only.

Secrets never stand on a command line: a variable whose value is one is named, and taken from our
own environment where it is set. The image is pulled first, so that a failure of the
registry is distinguished from one of the integration.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from tidegate.kinds.integrations.client.runners.command import DATA_VARIABLE
from tidegate.kinds.integrations.client.runners.process import run_process
from tidegate.kinds.integrations.dry_runs_port import DryRunRequest, MissingError, Tell
from tidegate.model.errors import OutsideError

# Where the bundle is in a container.
DATA = "/data"
# What both programs end with if it was them who failed, and not what they ran.
THEIR_FAULT = 125
# A container that does not stop when asked to is left running.
REMOVE_S = 30.0


class ContainerRunner:
    """Runs containers here."""

    reads_data = True

    def __init__(
        self,
        program: str,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._program = program
        self._arguments = tuple(arguments)
        self._environment = dict(os.environ if environment is None else environment)
        # Each image is had once, however many runs want it.
        self._having: dict[str, asyncio.Lock] = {}
        self._had: set[str] = set()

    async def run(self, dry_run: DryRunRequest, said: Tell, noted: Tell) -> int:
        """Run it in a container of its own, which is gone afterwards."""
        image = dry_run.input.image
        async with self._having.setdefault(image, asyncio.Lock()):
            if image not in self._had:
                await self._have(image, noted)
                self._had.add(image)
        last: list[str] = []

        def keeping(line: str) -> None:
            last[:] = [line]
            said(line)

        name = f"tidegate-check-{dry_run.key}"
        try:
            code = await self._do(self._run_words(dry_run, name), keeping)
        except asyncio.CancelledError:
            await asyncio.shield(self._remove(name))
            raise
        if code == THEIR_FAULT:
            why = last[0] if last else f"exit code {code}"
            raise OutsideError(f"{self._program} could not run {image}: {why}")
        return code

    async def close(self) -> None:
        """It holds nothing."""

    async def _have(self, image: str, noted: Tell) -> None:
        if await self._do(["image", "inspect", "--format", "{{.Id}}", image], lambda _: None) == 0:
            return
        last = [f"`{self._program} pull` failed"]

        def keeping(line: str) -> None:
            last.append(line)
            noted(line)

        noted(f"Unable to find image '{image}' locally")
        if await self._do(["pull", image], keeping) != 0:
            what = last[-1]
            if "daemon" in what.lower() or "cannot connect" in what.lower():
                raise MissingError(f"{self._program} cannot be used: {what}")
            raise OutsideError(f"{image} cannot be had: {what}")

    def _run_words(self, dry_run: DryRunRequest, name: str) -> list[str]:
        words = ["run", "--rm", "--name", name, "--pull", "never"]
        for variable, value in dry_run.input.variables.items():
            words += ["--env", f"{variable}={value}"]
        for variable in dry_run.input.secrets:
            words += ["--env", variable] if variable in self._environment else []
        if dry_run.data:
            words += ["--env", f"{DATA_VARIABLE}={DATA}"]
            words += ["--volume", f"{dry_run.data}:{DATA}:ro"]
        return [*words, *self._arguments, dry_run.input.image]

    async def _do(self, words: Sequence[str], said: Tell) -> int:
        return await run_process([self._program, *words], self._environment, said)

    async def _remove(self, name: str) -> None:
        with suppress(TimeoutError, MissingError):
            async with asyncio.timeout(REMOVE_S):
                await self._do(["rm", "--force", name], lambda _: None)
