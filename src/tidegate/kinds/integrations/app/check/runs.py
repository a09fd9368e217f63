"""Tries every affected shard on both sides of a change, several at once, and judges what it saw.

Where the image changes, both images run on the data of the change; where it does not, the one image
runs on the data before and after. So only one thing differs between the two.
"""

import asyncio
from collections.abc import Callable, Iterable
from hashlib import blake2b

import msgspec

from tidegate.kinds.integrations.core.review.affected import Case, Input
from tidegate.kinds.integrations.core.review.fault import Attempt, End, Judgement, judge
from tidegate.kinds.integrations.core.waves.rehearsal import LINES_MAX
from tidegate.kinds.integrations.dry_runs_port import DryRunRequest, MissingError, Runner
from tidegate.model.errors import OutsideError, StaleError
from tidegate.registry.image import is_one_build, tag_of

BASE, HEAD = "base", "head"
# Of what one run says, so many characters are kept.
SIZE_MAX = 8 << 20
# A case, which of its sides, and a line.
Log = Callable[[Case, str, str], None]


class CheckLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is run at once, how long each run may take, and how often it is tried again."""

    parallel: int = 4
    retries: int = 1
    time_s: float = 600.0


class CheckData(msgspec.Struct, frozen=True):
    """Where the bundle is, before and after; empty: it is not on disk."""

    base: str = ""
    head: str = ""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one case."""

    case: Case
    judgement: Judgement
    head: tuple[Attempt, ...] = ()
    base: tuple[Attempt, ...] = ()


class CheckRuns:
    """One check: a runner, its limits, and callbacks."""

    def __init__(
        self,
        runner: Runner,
        limits: CheckLimits,
        data: CheckData,
        log: Log,
        done: Callable[[CheckResult], None],
        key: str = "",
    ) -> None:
        self._runner = runner
        self._limits = limits
        self._data = data
        self._log = log
        self._done = done
        # Tells the runs of this check from those of others on the same machine.
        self._key = key
        self._slots = asyncio.Semaphore(limits.parallel)

    async def all(self, cases: Iterable[Case]) -> tuple[CheckResult, ...]:
        """Try all of them; the results in their order."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(case)) for case in cases]
        return tuple(task.result() for task in tasks)

    async def _one(self, case: Case) -> CheckResult:
        async with asyncio.TaskGroup() as group:
            new = group.create_task(self._tried(case, HEAD, case.head))
            old = None
            if case.base is not None:
                old = group.create_task(self._tried(case, BASE, case.base))
        head, base = new.result(), old.result() if old is not None else ()
        result = CheckResult(case=case, judgement=judge(head, base), head=head, base=base)
        self._done(result)
        return result

    async def _tried(self, case: Case, side: str, given: Input) -> tuple[Attempt, ...]:
        """One side, again if it failed; what could not even be begun is not tried again here."""
        attempts: list[Attempt] = []
        for number in range(self._limits.retries + 1):
            async with self._slots:
                attempts.append(await self._attempt(case, side, given, number))
            if attempts[-1].passed or attempts[-1].end is End.MISSING:
                break
            if number < self._limits.retries:
                self._log(case, side, f"# {attempts[-1].text}; once more")
        return tuple(attempts)

    async def _attempt(self, case: Case, side: str, given: Input, number: int) -> Attempt:
        lines: list[str] = []
        dropped = size = 0

        def said(line: str) -> None:
            nonlocal dropped, size
            size += len(line)
            if len(lines) < LINES_MAX and size <= SIZE_MAX:
                lines.append(_without_image(line, given))
                self._log(case, side, line)
            else:
                dropped += 1

        def noted(line: str) -> None:
            self._log(case, side, line)

        dry_run = self._dry_run(case, side, given, number)
        try:
            async with asyncio.timeout(self._limits.time_s):
                code = await self._runner.run(dry_run, said, noted)
        except TimeoutError:
            words = f"not done after {self._limits.time_s:g} s"
            return Attempt(end=End.TIMED_OUT, lines=tuple(lines), words=words)
        except MissingError as error:
            return Attempt(end=End.MISSING, words=str(error))
        except (OutsideError, StaleError) as error:
            return Attempt(end=End.OUTSIDE, words=str(error))
        finally:
            if dropped:
                self._log(case, side, f"# {dropped} more lines are not kept")
        return Attempt(end=End.EXITED, code=code, lines=tuple(lines))

    def _dry_run(self, case: Case, side: str, given: Input, number: int) -> DryRunRequest:
        before = side == BASE and not case.moves_image
        name = f"{self._key}\0{case.shard}\0{case.environment}\0{side}\0{number}"
        return DryRunRequest(
            integration=case.integration,
            shard=case.shard,
            input=given,
            data=self._data.base if before else self._data.head,
            key=blake2b(name.encode(), digest_size=8).hexdigest(),
        )


def _without_image(line: str, given: Input) -> str:
    """A line without the name of the image that says it, which is no difference by itself."""
    tag = tag_of(given.image)
    line = line.replace(given.image, "IMAGE")
    return line.replace(tag, "IMAGE") if is_one_build(tag) else line
