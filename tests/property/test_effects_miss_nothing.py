"""Laws of effects: reported exactly of objects that differ, and undone by the way back."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.property.estate_worlds import estates
from tidegate.kinds.integrations.core.review.effect import Fate, effects_of
from tidegate.kinds.integrations.core.workloads.difference import differences
from tidegate.kinds.integrations.core.workloads.estate import Estate, manifest_of

_BACK = {
    Fate.CREATED: Fate.DELETED,
    Fate.DELETED: Fate.CREATED,
    Fate.CHANGED: Fate.CHANGED,
}


@given(estates(), estates(), st.booleans())
def test_an_object_has_an_effect_exactly_if_what_a_cluster_is_handed_differs(
    base: Estate, head: Estate, complete: bool
) -> None:
    head = msgspec.structs.replace(head, complete=complete)
    old = {piece.key: manifest_of(piece, base.site) for piece in base.pieces()}
    new = {piece.key: manifest_of(piece, head.site) for piece in head.pieces()}
    wanted = {key: Fate.CREATED for key in new if key not in old}
    wanted |= {key: Fate.DELETED for key in old if key not in new and head.complete}
    wanted |= {key: Fate.CHANGED for key in new if key in old and differences(old[key], new[key])}
    found = effects_of(base, head)
    assert {each.key: each.fate for each in found.effects} == wanted
    assert len(found.effects) == len(wanted)
    gone = [key for key in old if key not in new]
    assert found.unknown == (0 if head.complete else len(gone))


@given(estates(), estates())
def test_the_way_back_undoes_every_effect(base: Estate, head: Estate) -> None:
    there, back = effects_of(base, head).effects, effects_of(head, base).effects
    assert {each.key: _BACK[each.fate] for each in there} == {e.key: e.fate for e in back}
    images = {each.key: (each.after, each.before) for each in there}
    assert images == {each.key: (each.before, each.after) for each in back}
