"""What is recorded of a namespace: the objects whose stand changed, and what is allowed there."""

from collections import Counter

import msgspec

from tidegate.journal.fact import Fact, register
from tidegate.kinds.integrations.core.objects.stand import ObjectStand, WaveLimits
from tidegate.kinds.integrations.core.workloads.change import ACTING, ObjectAction
from tidegate.model.limit import Limit
from tidegate.model.removal import REMOVALS


class NamespaceTerms(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What holds for all objects of a namespace."""

    # How many objects there are ours.
    managed: int = 0
    # Whether the bundle declares anything at all.
    declared: bool = True
    removals: Limit = REMOVALS
    allows_mass_delete: bool = False
    waves: dict[str, WaveLimits] = {}
    # What is wrong with the bundle or the reading: the first few, a line each.
    problems: tuple[str, ...] = ()


def _verb_words(verb: ObjectAction) -> str:
    return f"to {verb.value}" if verb in ACTING else verb.value


class ObjectsSeen(Fact, frozen=True, tag="objectsSeen", kw_only=True, omit_defaults=True):
    """Objects that stand otherwise than before; the others are as they were."""

    terms: NamespaceTerms = NamespaceTerms()
    objects: tuple[ObjectStand, ...] = ()
    # Neither there nor declared any more.
    gone: tuple[str, ...] = ()

    def line(self) -> str:
        """How many objects, by what would become of them."""
        counts = Counter(_verb_words(each.verb) for each in self.objects)
        parts = [f"{count} {words}" for words, count in sorted(counts.items())]
        parts += [f"{len(self.gone)} gone"] if self.gone else []
        return ", ".join(parts) or "the terms changed"

    def line_of(self, target: str, gate: str) -> str:
        """What would become of the objects of a target, and what differs."""
        mine = [each for each in self.objects if each.target == target]
        if not mine or gate:
            return self.line()
        return "; ".join(
            f"{each.words}: {', '.join(each.fields)}" if each.fields else each.words
            for each in mine
        )

    def names(self, target: str) -> bool:
        """Whether it is about a target."""
        return any(each.target == target for each in self.objects)


register(ObjectsSeen)
