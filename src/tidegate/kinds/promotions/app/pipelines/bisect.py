"""One step of the search for what broke a version: what a person is asked to let on stage next.

The step is a change of one line of the bundle, offered with the credentials of the person who
confirms it. That it was confirmed is a fact, recorded before the offer: a step that was interrupted
is the next step again, on the same branch. Its result is a deployment, seen like any other.
"""

from collections.abc import Mapping
from typing import NoReturn

import msgspec

from tidegate.app.partitions.journals import Journals
from tidegate.explain.markup import code
from tidegate.explain.sentence import sentence
from tidegate.gates.ask import Ask, Purpose, shut_now
from tidegate.gates.brakes import Brakes, Coverages, concerning
from tidegate.git.history import SHORT
from tidegate.git.port import Repository
from tidegate.journal.chain import JournalNote
from tidegate.kinds.promotions.app.pipelines.reports import pipeline_of
from tidegate.kinds.promotions.app.pipelines.suspects import SuspectList, bisection_of
from tidegate.kinds.promotions.app.ports import PromotionPorts
from tidegate.kinds.promotions.channel_rules import PipelineState
from tidegate.kinds.promotions.core.channels.journal.facts import BisectConfirmed
from tidegate.kinds.promotions.core.channels.journal.world import labels_of
from tidegate.kinds.promotions.core.channels.sources import SaasPublisher
from tidegate.kinds.promotions.core.requests.model import request_key
from tidegate.kinds.promotions.files.files import Files, root_in
from tidegate.kinds.promotions.files.publisher_edit import edited_publisher
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.model.time import Duration, Instant
from tidegate.propose.offer import Offer


class PlannedTry(msgspec.Struct, frozen=True, kw_only=True):
    """What is written on stage next, and what is recorded when a person confirms it."""

    found: SuspectList
    publisher: SaasPublisher
    # The version to try; or, where the search is over, what was written there before.
    ref: str
    # None: it was confirmed before, or nothing is tried any more.
    fact: BisectConfirmed | None = None

    @property
    def is_return(self) -> bool:
        """Whether the target is written as it was before the search."""
        return self.found.bisect is None

    @property
    def question(self) -> str:
        """What a person is asked."""
        if self.is_return:
            return f"Write {self.ref} for {self.publisher.name} again?"
        return f"Let {self.ref[:SHORT]} on {self.publisher.name}?"

    def offer(self, ports: PromotionPorts, reason: str) -> Offer:
        """The change of one line, ready to be offered."""
        target, old = self.publisher.name, self.publisher.ref

        def files(repository: Repository, base: str) -> Mapping[str, bytes | None]:
            there = Files(repository, base, root_in(ports.bundle.prefix))
            return dict(ports.with_holds(base, edited_publisher(there, target, old, self.ref)))

        broken = self.found.version[:SHORT]
        title = f"Try {self.ref[:SHORT]} on {target}, to find what broke {broken}"
        if self.is_return:
            title = f"Return {target} to {self.ref}: the search for what broke {broken} is over"
        return Offer(
            title=title,
            description=self._described(reason),
            key=f"bisect-{request_key((self.found.version, target, self.ref))}",
            files=files,
            message=f"{title}\n\n{reason}".rstrip() + "\n",
        )

    def _described(self, reason: str) -> str:
        found, step = self.found, self.found.bisect
        broken, left = found.version[:SHORT], found.left or 0
        lines = [f"{code(broken)} failed on {code(found.failed_on)} at {found.failed_at}."]
        if step is not None:
            lines.append(
                f"{left} commits are suspects. {code(step.version[:SHORT])} {code(step.subject)} is"
                f" in the middle: if it is good there, {step.left_if_good} are left; if it fails,"
                f" {step.left_if_bad}. No subscriber gets it."
            )
        elif found.culprit is not None:
            lines.append(f"The search ended with {code(found.culprit[:SHORT])}.")
        lines.append(f"`tidegate promotions suspects {broken} --bisect` says what is next.")
        return "\n\n".join([*lines, *([code(reason)] if reason else [])]) + "\n"


def plan_try(journals: Journals, found: SuspectList, brakes: Brakes, now: Instant) -> PlannedTry:
    """The next step of a search; UserError says why there is none."""
    state = pipeline_of(journals, found.pipeline).state
    assert isinstance(state, PipelineState)
    reading = state.known.reading
    assert reading is not None, "a decision has one"
    if found.refused:
        _refuse(found, found.refused)
    publisher = next(each for each in reading.publishers if each.name == found.failed_on)
    known = bisection_of(state.known, found.version)
    if found.bisect is None:
        if known is None or publisher.ref == known.ref:
            _refuse(found, "nothing is left to try")
        return PlannedTry(found=found, publisher=publisher, ref=known.ref)
    version = found.bisect.version
    _check_brakes(found, publisher, brakes, version, now)
    fact = BisectConfirmed(
        version=found.version,
        target=publisher.name,
        ref=publisher.ref if known is None else known.ref,
        step=version,
    )
    confirmed = known is not None and any(each.version == version for each in known.tries)
    return PlannedTry(
        found=found, publisher=publisher, ref=version, fact=None if confirmed else fact
    )


def record_try(journals: Journals, planned: PlannedTry, actor: str) -> None:
    """Record that a person confirmed a step; one that was confirmed before says nothing new."""
    if planned.fact is not None:
        note = JournalNote(journals.now, actor, planned.fact)
        journals.store.append(planned.found.pipeline, [note])


def _check_brakes(
    found: SuspectList, publisher: SaasPublisher, brakes: Brakes, version: str, now: Instant
) -> None:
    """UserError where a brake covers the target, as for any other change of it."""
    labels = {publisher.name: labels_of(publisher.place)}
    mine = concerning(brakes, labels, labels)
    if mine is None:
        return
    ask = Ask(
        purpose=Purpose.ROLL_OUT,
        now=now,
        revision=version[:SHORT],
        version=version,
        need=Duration(0),
    )
    shut = shut_now(Coverages(mine, labels).of(publisher.name), ask)
    if shut is not None:
        _refuse(found, f"{publisher.name}: {sentence(shut)}")


def _refuse(found: SuspectList, why: str) -> NoReturn:
    broken = found.version[:SHORT]
    remedy = f"`tidegate promotions suspects {broken}` lists the suspects"
    raise UserError((Problem(broken, why, remedy),))
