"""Pipelines as a worker runs them: saas files and deployments are read, versions are offered."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from tidegate.engine.kind import ActRefusedError, Kind
from tidegate.engine.plain.rules import PlainWorld
from tidegate.engine.plain.state import PlainTask
from tidegate.gates.brakes import Brakes
from tidegate.journal.fact import Fact
from tidegate.kinds.promotions.app.pipelines.observation import (
    PipelineObservation,
    PipelineQuestions,
    PipelineReader,
    questions_of,
)
from tidegate.kinds.promotions.app.pipelines.ports import PipelineRequests
from tidegate.kinds.promotions.channel_rules import ChannelRules, PipelineState, act_of
from tidegate.kinds.promotions.core.channels.journal.facts import (
    DeploymentsSeen,
    RunsSeen,
    SlosSeen,
)
from tidegate.kinds.promotions.core.channels.journal.state import news_of, read_fact, requests_news
from tidegate.machine.clock import Clock
from tidegate.model.errors import StaleError, UserError
from tidegate.model.plan import Plan
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.net.picture_links import PictureLinks

# A reading that is this old is read again.
EVERY = Duration(60 * SECOND)


class PipelineKind(Kind[PipelineState, PlainWorld, Plan, PipelineObservation]):
    """The pipelines that a bundle declares."""

    def __init__(
        self,
        reader: PipelineReader,
        requests: PipelineRequests | None,
        clock: Clock,
        *,
        adopt: bool = False,
        every: Duration = EVERY,
        pictures: PictureLinks | None = None,
    ) -> None:
        self._pictures = pictures or PictureLinks()
        self._rules = ChannelRules(adopt=adopt)
        super().__init__(self._rules)
        self._reader, self._requests = reader, requests
        self._clock, self._every = clock, every
        self._last: dict[str, PipelineObservation] = {}
        # What is read beside the bundle, as of the last round.
        self._asked: dict[str, PipelineQuestions] = {}
        # Pipelines of which something is asked for that was not read yet.
        self._unread: set[str] = set()
        self._woken: asyncio.Queue[str] = asyncio.Queue()
        # The repositories are used by one call at a time.
        self._lock = asyncio.Lock()

    async def partitions(self) -> list[str]:
        """One for each pipeline."""
        async with self._lock:
            return await self._reader.partitions()

    async def changes(self) -> AsyncIterator[str]:
        """Pipelines of which a merge request was changed."""
        while True:
            yield await self._woken.get()

    async def observe(self, partition: str) -> PipelineObservation | None:
        """The last reading, or a new one if that is too old."""
        last = self._last.get(partition)
        if last is not None and self._clock.now() - last.at < self._every:
            return last
        async with self._lock:
            asked = self._asked.get(partition, PipelineQuestions())
            found = await self._reader.observe(partition, asked, self._clock.now())
        if found is not None:
            self._last[partition] = found
        return found

    def news(
        self, state: PipelineState, seen: PipelineObservation, now: Instant
    ) -> Sequence[tuple[Instant, Fact]]:
        """What the reading shows that is not known."""
        known = state.known
        facts: list[Fact] = []
        if (read := read_fact(known, seen.reading)) is not None:
            facts.append(read)
        for source, deployments in seen.deployments.items():
            if news := news_of(known, deployments):
                facts.append(DeploymentsSeen(deployments=news, source=source))
        runs = {name: one for name, one in (seen.runs or {}).items() if known.runs.get(name) != one}
        if runs:
            facts.append(RunsSeen(runs=runs))
        if seen.slos is not None and dict(seen.slos) != known.slos:
            facts.append(SlosSeen(slos=dict(seen.slos)))
        requests = None if seen.requests is None else requests_news(known, seen.requests)
        if requests is not None:
            facts.append(requests)
        return [(now, fact) for fact in facts]

    async def after_round(self, round_: Any) -> Mapping[str, str]:
        """Read again at once what the facts of this round ask for: commits, open requests."""
        partition = round_.part.partition
        asked = questions_of(round_.part.state.known)
        self._unread.discard(partition)
        if asked != self._asked.get(partition, PipelineQuestions()):
            self._asked[partition] = asked
            self._unread.add(partition)
            self._again(partition)
        return {}

    def rests(self, result: Any) -> bool:
        """Whether nothing more happens by itself: all that is asked for was read."""
        return super().rests(result) and result.partition not in self._unread

    def observe_soon(self, partition: str) -> None:
        """Read again in the next round."""
        self._last.pop(partition, None)

    async def act(self, partition: str, state: PipelineState, task: Any) -> str:
        """Open, change or close a merge request; brakes are checked by the engine right before."""
        assert isinstance(task, PlainTask)
        now = self._clock.now()
        world = self._rules.world(state, state.brakes or Brakes(), now, None)
        if world is None or self._requests is None:
            raise StaleError("nothing is known of the pipeline any more")
        plan = self._rules.decide(world, now)
        act = act_of(plan, task)
        if act is None:
            self._again(partition)
            raise StaleError("it is not wanted any more")
        try:
            async with self._lock:
                picture = self._pictures.of_task(partition, task.key)
                return await self._requests.carry_out(act, plan, world.inner, picture)
        except UserError as error:
            raise ActRefusedError(f"bundle: {error}") from None
        finally:
            self._again(partition)

    def _again(self, partition: str) -> None:
        self.observe_soon(partition)
        self._woken.put_nowait(partition)

    def on_lease_lost(self, partition: str) -> None:
        """Another worker leads it, and reads it anew."""
        self._last.pop(partition, None)
