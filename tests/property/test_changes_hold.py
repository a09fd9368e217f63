"""Laws of plans for clusters: applied once they are done, what is not ours stays, gaps keep all."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tests.estates import (
    Land,
    estate,
    integration,
)
from tests.property.estate_worlds import CLUSTERS, NAMESPACES, estates, places
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.kinds.integrations.core.workloads.estate import Estate, manifest_of
from tidegate.kubernetes.port import MANAGER
from tidegate.model.errors import OutsideError
from tidegate.model.removal import removals_max

_wishes = st.fixed_dictionaries(
    {"adopt": st.booleans(), "allow_mass_delete": st.booleans(), "sound": st.booleans()}
)


def _land(first: Estate, foreign: Estate) -> Land:
    """Clusters on which another client runs something, and then we do."""
    land = Land(*CLUSTERS, namespaces=NAMESPACES)
    for piece in foreign.pieces():
        document = dict(manifest_of(piece, foreign.site, adopted=True))
        document["metadata"] = {**document["metadata"], "annotations": {}, "labels": {}}
        land.somebody_applies(document, piece.cluster)
    land.apply(first)
    return land


@given(estates(), estates(), estates(), _wishes)
def test_what_was_applied_is_not_planned_again(
    foreign: Estate, first: Estate, second: Estate, wishes: dict[str, bool]
) -> None:
    """Except what is only said: held, kept, left to the engine or to a person's consent."""
    land = _land(first, foreign)
    land.apply(second, **wishes)
    told = {ObjectAction.UNCHANGED, ObjectAction.STAGED, ObjectAction.RESHARD, ObjectAction.KEPT}
    told |= set() if wishes["adopt"] else {ObjectAction.ADOPT, ObjectAction.CONFLICT}
    again = [each for each in land.foreseen(second, **wishes) if each.verb not in told]
    assert not [each for each in again if each.verb is not ObjectAction.REMOVE]
    # One may always go, and then the next.
    assert len(again) <= removals_max(len(land.ours()))


@given(estates(), estates(), estates(), st.booleans())
def test_what_is_not_ours_is_never_changed_or_removed(
    foreign: Estate, first: Estate, second: Estate, mass: bool
) -> None:
    """Without consent every object of others is the very one it was."""
    land = _land(first, foreign)
    there = {where: r for where, r in land.records().items() if MANAGER not in r.owners}
    land.apply(second, allow_mass_delete=mass)
    now = land.records()
    assert {where: now.get(where) for where in there} == there
    with_consent = land.plan(second, adopt=True, allow_mass_delete=True)
    ours = land.ours()
    assert {each.key for each in with_consent if each.verb is ObjectAction.REMOVE} <= ours


@given(estates(), estates(), st.sampled_from(CLUSTERS), st.sampled_from(("Service", "CronJob")))
def test_on_any_gap_nothing_is_removed(
    first: Estate, second: Estate, broken: str, kind: str
) -> None:
    """A cluster of which one kind could not be read keeps all it has; the others go on."""
    land = _land(first, estate())

    def fault(call: str) -> None:
        if call == f"read {kind}":
            raise OutsideError(f"{broken}: it is ill")

    land.apis[broken].fault = fault
    before = {where for where in land.records() if where[0] == broken}
    land.apply(second, allow_mass_delete=True)
    assert before <= land.records().keys()


@given(estates(), estates(), estates())
def test_no_more_is_removed_than_the_brake_lets_go(
    foreign: Estate, first: Estate, second: Estate
) -> None:
    """Of what is ours, and on a sound bundle only."""
    land = _land(first, foreign)
    managed_now = len(land.ours())
    before = land.records().keys()
    land.apply(second, sound=False)
    assert before <= land.records().keys()
    before = land.records().keys()
    managed_now = max(managed_now, len(land.ours()))
    land.apply(second)
    assert len(before - land.records().keys()) <= removals_max(managed_now)
    assert not [where for where in before - land.records().keys() if where in _foreign(foreign)]


def _foreign(foreign: Estate) -> set[tuple[str, str, str, str]]:
    return {piece.key for piece in foreign.pieces()}


_split = places(here=True).map(lambda place: estate(integration("a", place)))


@given(_split, _split)
def test_no_key_has_two_owners_at_any_moment(first: Estate, second: Estate) -> None:
    """After every single write, a set that may not overlap is split in one way."""
    land = _land(first, estate())
    owners = set(_owners(first)) | set(_owners(second))

    def look(call: str) -> None:
        if call == "applied":
            assert all(len(ways) == 1 for ways in _ways(land, owners).values())

    for api in land.apis.values():
        api.fault = look
    land.apply(second, allow_mass_delete=True)


def _owners(wanted: Estate) -> Iterator[tuple[str, str, str]]:
    for piece in wanted.pieces():
        if piece.place is not None:
            yield piece.cluster, piece.namespace, piece.place.integration.name


def _ways(land: Land, owners: set[tuple[str, str, str]]) -> dict[tuple[str, ...], set[str]]:
    """How each set is split, by the arguments of its workloads."""
    found: dict[tuple[str, ...], set[str]] = {}
    for where, record in land.records().items():
        env = {
            str(dict(path[-2])["name"]): str(value)
            for path, value in record.fields.items()
            if len(path) > 2 and path[-3] == "env" and path[-1] == "value"
        }
        owner = (where[0], where[1], env.get("INTEGRATION_NAME", ""))
        if owner in owners and record.fields.get(("spec", "replicas")) != 0:
            found.setdefault((*owner, env.get("SHARD_KEY", "")), set()).add(env.get("SHARDS", ""))
    return found
