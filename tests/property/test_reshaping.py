"""Laws of resharding: what could own a key of another shard ends before that one starts."""

from hypothesis import given
from hypothesis import strategies as st

from tests.bundles import INVENTORY, PRODUCTION, bundle_of
from tidegate.kinds.integrations.app.shards import row_in
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.review.proof import proof_of
from tidegate.kinds.integrations.core.waves.reshape import (
    Share,
    owners_of,
    reshapes_of,
    share_of,
    share_of_workload,
    still_there,
)
from tidegate.kinds.integrations.core.workloads.estate import (
    ManagedPlace,
    estate_of,
    manifest_of,
    pieces_of,
)
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, Pod, workload_of
from tidegate.kinds.integrations.fleet.snapshot import NamespaceSnapshot
from tidegate.kubernetes.port import DEPLOYMENT, Object
from tidegate.model.problem import Problems

ACCOUNTS = ("app-int-example-01", "ter-int-dev", "app-sre")


def place_of(sharding: str) -> ManagedPlace:
    """An integration that is split in some way."""
    text = (
        "$schema: /app-sre/integration-1.yml\nname: terraform-resources\nmanaged:\n"
        f"- namespace: {{$ref: {PRODUCTION}}}\n"
        "  spec: {resources: {requests: {cpu: 100m, memory: 100Mi}}}\n"
        f"  sharding: {sharding}\n"
    )
    bundle = bundle_of({**INVENTORY, "integrations/t.yml": text})
    problems = Problems()
    declared = INTEGRATIONS.of(bundle)
    (place,) = estate_of(declared.integrations, declared.inventories, problems).places
    assert not problems.errors
    return place


_static = st.integers(1, 4).map("{{strategy: static, shards: {}}}".format)
_split = st.dictionaries(st.sampled_from(ACCOUNTS), st.integers(1, 3)).map(
    lambda counts: (
        "{strategy: per-aws-account, shardSpecOverrides: ["
        + ", ".join(
            f"{{shard: {name}, subSharding: {{strategy: static, shards: {count}}}}}"
            for name, count in counts.items()
        )
        + "]}"
    )
)
_places = st.one_of(_static, _split).map(place_of)


def running(place: ManagedPlace) -> dict[str, LiveWorkload]:
    """What runs once a place is applied, as its documents tell it."""
    found = (workload_of(manifest_of(piece, SITE)) for piece in pieces_of(place))
    return {each.name: each for each in found}


SITE = estate_of((), {}, Problems()).site


def may_share(one: Share, other: Share) -> bool:
    """Whether two could own one key at the same time; two of one set never do."""
    return one != other and (one[0] == other[0] or not one[0] or not other[0])


@given(_places, _places)
def test_what_could_share_a_key_with_a_new_one_ends_first(
    old: ManagedPlace, new: ManagedPlace
) -> None:
    workloads = running(old)
    found = reshapes_of(new, owners_of(workloads.values(), ()))
    for name, workload in workloads.items():
        share = share_of_workload(workload)
        clashing = [
            unit
            for unit in new.units
            for shard in unit.shards[:1]
            if may_share(share, share_of(shard)) and share not in {share_of(s) for s in new.shards}
        ]
        mine = [each for each in found if name in each.old]
        assert len(mine) == bool(clashing)
        for unit in clashing:
            assert unit in mine[0].units


@given(_places)
def test_what_is_split_as_it_is_to_be_is_left_alone(place: ManagedPlace) -> None:
    assert reshapes_of(place, owners_of(running(place).values(), ())) == []


@given(_places, _places)
def test_once_the_old_set_is_gone_none_is_still_there(old: ManagedPlace, new: ManagedPlace) -> None:
    workloads = running(old)
    for each in reshapes_of(new, owners_of(workloads.values(), ())):
        assert set(still_there(each, workloads, {})) == set(each.old)
        left = {name: one for name, one in workloads.items() if name not in each.old}
        assert still_there(each, {**left, **running(new)}, {}) == {}


def test_a_set_in_which_two_owners_do_no_harm_is_not_drained() -> None:
    new = place_of("{strategy: static, shards: 5, overlap: true}")
    old = running(place_of("{strategy: static, shards: 3}"))
    assert reshapes_of(new, owners_of(old.values(), ())) == []


def test_a_resharding_is_called_by_what_is_split_and_says_what_becomes_of_it() -> None:
    (one,) = reshapes_of(
        place_of("{strategy: static, shards: 5}"),
        owners_of(running(place_of("{strategy: static, shards: 3}")).values(), ()),
    )
    assert one.partition.endswith("production-int+shards")
    assert one.words == "resharding 3 to 5"
    (other,) = reshapes_of(
        place_of(
            "{strategy: per-aws-account, shardSpecOverrides: "
            "[{shard: app-sre, subSharding: {strategy: static, shards: 2}}]}"
        ),
        owners_of(running(place_of("{strategy: per-aws-account}")).values(), ()),
    )
    assert other.partition.endswith("+app-sre")
    assert other.words == "resharding whole to 2"


def test_a_pod_that_is_ending_owns_its_keys_until_it_is_gone() -> None:
    """Its workload is gone, and the bundle has changed its mind meanwhile: it still counts."""
    env = {"SHARDS": "3", "SHARD_ID": "0", "INTEGRATION_NAME": "terraform-resources"}
    pod = Pod(uid="u", name="p", workload="w", image="i", ending=True, env=env)
    (one,) = reshapes_of(place_of("{strategy: static, shards: 4}"), owners_of((), (pod,)))
    assert one.old == ("w",)
    job = Pod(uid="u", name="p", workload="w", image="i", env={**env, "RUN_ONCE": "true"})
    assert reshapes_of(place_of("{strategy: static, shards: 4}"), owners_of((), (job,))) == []


@given(_places, _places)
def test_what_another_set_still_does_is_not_said_to_run_nothing(
    old: ManagedPlace, new: ManagedPlace
) -> None:
    """A unit whose set has to wait for another runs what that one runs, and says what it waits for.

    Others are as they are: what is not applied runs nothing.
    """
    workloads = running(old)
    objects = {name: Object(DEPLOYMENT, "n", name, name, "1", True, {}) for name in workloads}
    snapshot = NamespaceSnapshot(workloads, {}, objects, True, {})
    waiting = {
        unit.name: each
        for each in reshapes_of(new, owners_of(workloads.values(), ()))
        for unit in each.units
    }
    for unit in new.units:
        row = row_in(new, unit, snapshot)
        proof = proof_of(new, unit, row, workloads, {})
        if all(shard.workload in workloads for shard in unit.shards):
            continue
        reshape = waiting.get(unit.name)
        assert row.resharding == (reshape is not None)
        if reshape is not None:
            assert row.runs
            assert row.runs in proof.running
            assert row.note.startswith(reshape.words)
            assert proof.why == row.note
        elif not any(shard.workload in workloads for shard in unit.shards):
            assert (row.runs, row.note) == ("", "not applied yet")
