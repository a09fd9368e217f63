"""What Tidegate would have done in a namespace, beside what its present manager did.

Objects that are not ours are changed by another manager. A change that Git declares shows as fields
that differ from what we would apply; once that manager carries it out, none differ. What differs
though Git declares nothing new was changed by that manager alone.
"""

from collections.abc import Iterable

from tidegate.journal.chain import JournalEntry
from tidegate.journal.shadow import ShadowDecision, Shadowed
from tidegate.kinds.integrations.core.objects.facts import ObjectsSeen
from tidegate.kinds.integrations.core.objects.stand import ObjectStand
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.model.time import Instant

_THEIRS_ALONE = "changed there, and Git declares nothing new"
_NOT_YET = "its manager has not done it yet"


def shadow(entries: Iterable[JournalEntry]) -> Shadowed | None:
    """Changes of objects that are not ours, as both would have made them; None: there are none."""
    watch = _Watch()
    began = ended = None
    for entry in entries:
        fact = entry.fact()
        if isinstance(fact, ObjectsSeen):
            for each in fact.objects:
                watch.see(entry.at, each, first=began is None)
            began, ended = began or entry.at, entry.at
            for name in fact.gone:
                watch.known.pop(name, None)
    if not watch.others:
        return None
    return Shadowed(
        decisions=tuple(watch.decisions),
        ours_only=tuple(watch.asked[name] for name in sorted(watch.asked)),
        looks=None,
        began_at=began,
        ended_at=ended,
    )


class _Watch:
    def __init__(self) -> None:
        self.known: dict[str, ObjectStand] = {}
        # What we asked for and their manager has not done, by object.
        self.asked: dict[str, ShadowDecision] = {}
        self.decisions: list[ShadowDecision] = []
        # Whether any object is of another manager.
        self.others = False

    def see(self, at: Instant, now: ObjectStand, *, first: bool) -> None:
        """One object that stands otherwise than before; `first`: in the first reading of all."""
        before = self.known.get(now.object)
        self.known[now.object] = now
        theirs = now.verb is ObjectAction.ADOPT
        self.others |= theirs
        differs = bool(now.fields) if theirs else now.verb is ObjectAction.CREATE
        open_one = self.asked.get(now.object)
        if not differs:
            self.asked.pop(now.object, None)
            # What was declared and made between two looks was asked for by both.
            fresh = not first if before is None else before.wanted != now.wanted
            if theirs and open_one is not None:
                self.decisions.append(_both(open_one, at))
            elif theirs and fresh:
                asked = ShadowDecision(target=now.target, what=_what(now), ours_at=at)
                self.decisions.append(_both(asked, at))
        elif open_one is None:
            alone = before is not None and theirs and before.wanted == now.wanted
            if alone:
                self.decisions.append(
                    ShadowDecision(
                        target=now.target,
                        what=_what(now),
                        theirs_at=at,
                        why=_THEIRS_ALONE,
                    )
                )
            else:
                self.asked[now.object] = ShadowDecision(
                    target=now.target, what=_what(now), ours_at=at, why=_NOT_YET
                )


def _both(asked: ShadowDecision, at: Instant) -> ShadowDecision:
    return ShadowDecision(target=asked.target, what=asked.what, ours_at=asked.ours_at, theirs_at=at)


def _what(stand: ObjectStand) -> str:
    fields = "; ".join(stand.fields) or "as declared"
    return f"{stand.object}: {fields}"
