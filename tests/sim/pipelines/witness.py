"""A witness of pipelines: it knows what clusters, forges and people showed, and no rule of ours."""

from collections.abc import Iterable

from tests.pipeline_stage import MemoryForge, Shelf
from tests.sim.story.life import Life
from tests.sim.story.witness import Witness
from tidegate.kinds.promotions.core.requests.model import (
    ChannelPromotion,
    RequestAct,
    RequestVerb,
)
from tidegate.model.time import SECOND, Instant
from tidegate.simulation.virtual_loop import VirtualLoop

PARTITION = "channels/payments"
# A worker acts on a reading that is so old at most, and on what the journal said a moment ago.
WITHIN = 3 * 3600 * SECOND
# By so much clocks are off.
OFF = 60 * SECOND


class PipelineWitness(Witness):
    """Sees deployments, merge requests, approvals and brakes as they happen."""

    def __init__(self, loop: VirtualLoop, shelf: Shelf, forge: MemoryForge) -> None:
        super().__init__(loop)
        self._shelf, self._forge = shelf, forge
        # What each target was deployed with last, whether well, and since when without a break.
        self.running: dict[str, tuple[str, bool, Instant]] = {}
        # When a version failed first, and was not lifted since.
        self.failed: dict[str, Instant] = {}
        self.approved: dict[str, Instant] = {}
        self.held_at: Instant | None = None
        self.paused_at: Instant | None = None
        # Versions that were written for a subscriber and then ran there.
        self.written: set[tuple[str, str]] = set()
        self.well: dict[str, Instant] = {}
        # When a person pushed to a merge request, and closed one with some content.
        self.pushed: dict[int, Instant] = {}
        self.declined: dict[str, Instant] = {}

    def is_watched(self, partition: str) -> bool:
        """Whether it is the pipeline."""
        return partition == PARTITION

    def deployed(self, name: str, version: str, good: bool) -> None:
        """A cluster shows a deployment."""
        now = self.loop.now()
        known = self.running.get(name)
        goes_on = known is not None and known[:2] == (version, True) and good
        self.running[name] = known if goes_on and known is not None else (version, good, now)
        if not good:
            self.failed.setdefault(version, now)
            self.well.pop(version, None)
            self.seen["failures"] += 1
        elif (name, version) in self.written and version not in self.failed:
            self.well.setdefault(version, now)

    def acts(
        self, life: Life, act: RequestAct, promotions: Iterable[ChannelPromotion], needed: int
    ) -> None:
        """A worker is about to open, change or close a merge request."""
        verb = act.verb
        self.seen[verb.value] += 1
        self.claim_led(life, PARTITION, WITHIN, verb.value)
        theirs = self._past(self.pushed.get(act.number or 0))
        self.claim(not theirs, f"{verb.value} of !{act.number}, which has work of a person")
        if verb is RequestVerb.CLOSE:
            return
        self.claim(not self._past(self.held_at), "offers although everything is held")
        self.claim(not self._past(self.paused_at), "offers although it is paused")
        for promotion in promotions:
            refused = self._past(self.declined.get(promotion.content))
            self.claim(not refused, f"{promotion.channels} is offered as a person closed it")
            for change in promotion.changes:
                self._shown(change.name, change.version)
                self._trusted(change.version, needed)

    def _past(self, moment: Instant | None) -> bool:
        return moment is not None and moment < self.loop.now() - WITHIN

    def _shown(self, name: str, version: str) -> None:
        """Every publisher runs it well, for as long as was asked for; it failed nowhere."""
        subscriber = self._shelf.subscribers[name]
        now = self.loop.now()
        publishers = [
            each.name
            for each in self._shelf.publishers.values()
            if set(each.channels) & set(subscriber.channels)
        ]
        for each in publishers:
            has, good, since = self.running.get(each, ("", False, now))
            changed = since > now - WITHIN
            self.claim(changed or (has == version and good), f"{version[:7]} is not run by {each}")
            soaked = now - since >= subscriber.soak - OFF
            self.claim(changed or soaked, f"{version[:7]} has not soaked on {each}")
            # What was deployed a moment ago cannot have soaked, whatever a reading said.
            early = has == version and now - since < subscriber.soak - WITHIN - OFF
            self.claim(not early, f"{version[:7]} has not soaked on {each}")
        self.claim(not self._past(self.failed.get(version)), f"{version[:7]} failed elsewhere")

    def _trusted(self, version: str, needed: int) -> None:
        if len(self.well) < needed:
            given = version in self.approved
            self.claim(given, f"{version[:7]} is offered, and no person approved it")

    def one_each(self) -> None:
        """No promotion is in two open requests."""
        held: dict[tuple[str, ...], int] = {}
        for number in self._forge.open_numbers():
            for each in self._forge.holds(number):
                other = held.setdefault(each.channels, number)
                self.claim(other == number, f"{each.channels} is in !{other} and !{number}")
