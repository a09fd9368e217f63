"""A law of checks: no workload that would be handed something else is passed over in silence."""

from hypothesis import given

from tests.property.estate_worlds import estates
from tidegate.kinds.integrations.core.review.affected import Case, CheckedSide, affected_by
from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.workloads.difference import differences
from tidegate.kinds.integrations.core.workloads.estate import Estate, manifest_of


@given(estates(), estates())
def test_every_shard_whose_workload_differs_is_tried_or_named(base: Estate, head: Estate) -> None:
    old = {piece.key: piece for piece in base.pieces() if piece.place is not None}
    new = {piece.key: piece for piece in head.pieces() if piece.place is not None}
    found = affected_by(_view(base), _view(head), effects_of(base, head), {})
    tried = {case.head.piece.key: case for case in found.cases if case.head.piece is not None}
    skipped = {(each.shard.partition("-")[0], each.environment) for each in found.skipped}
    for key, piece in new.items():
        assert piece.place is not None
        named = piece.unit.partition("-")[0], piece.place.managed.namespace.environment
        before = old.get(key)
        differs = before is None or differences(
            manifest_of(before, base.site), manifest_of(piece, head.site)
        )
        assert (key in tried or named in skipped) if differs else _only_pinned(tried.get(key))
    # One that is another kind of object now is still there.
    names = {(cluster, namespace, name) for cluster, namespace, _, name in new}
    for key, piece in old.items():
        assert piece.place is not None
        named = piece.unit.partition("-")[0], piece.place.managed.namespace.environment
        assert (key[0], key[1], key[3]) in names or named in skipped
    # Each is tried with what it is to run, beside what it ran.
    for case in found.cases:
        assert case.head.piece is not None
        manifest = manifest_of(case.head.piece, head.site)
        assert manifest["spec"]["template"]["spec"]["containers"][0]["image"] == case.head.image


def _only_pinned(case: Case | None) -> bool:
    """Nothing is tried without a cause; a pin to what runs is one, though nothing differs."""
    return case is None or any("pinned to" in why for why in case.why)


def _view(estate: Estate) -> CheckedSide:
    integrations = {place.integration.name: place.integration for place in estate.places}
    return CheckedSide(estate=estate, integrations=tuple(integrations.values()))
