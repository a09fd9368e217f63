"""Whether a shard runs what is promised is reported by its pods."""

import pytest
from msgspec.structs import replace

from tests.estates import REPOSITORY, estate, integration, managed, staged
from tidegate.kinds.integrations.core.review.proof import Proof, moved_tags, proof_of
from tidegate.kinds.integrations.core.sharding.inventory import row_of
from tidegate.kinds.integrations.core.sharding.model import Override
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit, kind_of
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, Pod, pod_of

A, B = (f"{REPOSITORY}:{tag * 7}" for tag in "ab")
D1, D2 = (f"sha256:{digit * 64}" for digit in "12")


def _place(
    image: str = "aaaaaaa", *, override: Override | None = None, rules: bool = False
) -> ManagedPlace:
    place = managed(
        image,
        accounts=True,
        overrides=() if override is None else (override,),
        rollout=staged() if rules else None,
    )
    return estate(integration("tf", place), accounts=("one",)).places[0]


def _pod(image: str = A, digest: str = D1, name: str = "p") -> Pod:
    said = f"{REPOSITORY}@{digest}" if digest else ""
    return Pod(uid=name, name=name, workload="w", image=image, image_id=said, ready=True)


def _proof(place: ManagedPlace, given: str | None, *pods: Pod, replicas: int = 1) -> Proof:
    unit: Unit = place.units[0]
    name, kind = unit.shards[0].workload, kind_of(place.managed)
    workloads = {}
    if given is not None:
        workloads[name] = LiveWorkload(kind=kind, name=name, image=given, replicas=replicas)
    moved_by = "rollout it" if place.managed.rollout is not None else ""
    row = row_of(place, unit, kind, workloads, {name: pods}, {}, moved_by=moved_by)
    return proof_of(place, unit, row, workloads, {name: pods})


WAITING = replace(_pod(A, ""), ready=False, waiting="ImagePullBackOff")
CRASHING = replace(_pod(), ready=False, waiting="CrashLoopBackOff", restarts=4)


@pytest.mark.parametrize(
    "given, pods, why",
    [
        (A, [_pod()], ""),
        (None, [], "not applied yet"),
        (A, [], "no pod runs"),
        (B, [_pod(B)], "`tidegate serve` or `tidegate apply` moves it"),
        # It was given the right one, and no pod runs it yet.
        (A, [_pod(B)], "1 pod not replaced yet"),
        (A, [_pod(), replace(_pod(B), ending=True)], "1 pod of before still ending"),
        (A, [_pod(B), replace(_pod(B), ending=True)], "2 pods not replaced yet"),
        (A, [WAITING], "its image cannot be pulled"),
        (A, [CRASHING], "it crashes: 4 restarts (CrashLoopBackOff)"),
        (A, [replace(_pod(), ready=False)], "0 of 1 pods ready"),
        # One that was evicted long ago is only remembered.
        (A, [_pod(), replace(_pod(B), over=True, ready=False)], ""),
    ],
)
def test_a_shard_is_as_promised_if_all_its_pods_are(
    given: str | None, pods: list[Pod], why: str
) -> None:
    proof = _proof(_place(), given, *pods)
    assert (proof.why, proof.agrees) == (why, not why)


def test_a_rollout_that_holds_it_is_named() -> None:
    proof = _proof(_place("bbbbbbb", rules=True), A, _pod())
    assert proof.why == "Git wants bbbbbbb; stays on aaaaaaa until rollout it moves it"
    assert proof.running == ("aaaaaaa",)


def test_a_promised_digest_is_held_against_what_was_pulled() -> None:
    """The same tag can be another image."""
    place = _place(f"aaaaaaa@{D1}")
    plain = _proof(place, f"{A}@{D1}", _pod(f"{A}@{D1}"))
    assert (plain.agrees, plain.running) == (True, (f"aaaaaaa@{D1}",))
    assert _proof(place, A, _pod(A, D1)).agrees
    moved = _proof(place, A, _pod(A, D2))
    assert not moved.agrees
    assert moved.running == (f"aaaaaaa@{D2}",)
    assert not _proof(place, A, _pod(A, "")).agrees  # it is not known which one
    old = replace(_pod(A, D2), ending=True)
    assert _proof(place, A, _pod(A, D1), old).why == "1 pod of before still ending"


def test_a_disabled_shard_is_to_run_nothing() -> None:
    place = _place(override=Override(shard="one", disabled=True))
    assert _proof(place, A, replicas=0).agrees
    assert _proof(place, A, _pod()).why == "it is to run nothing: 1 pod left"


def test_a_cron_job_keeps_its_promise_with_its_next_run() -> None:
    place = estate(integration("tf", managed(cron="0 * * * *"))).places[0]
    assert _proof(place, A).agrees
    assert not _proof(place, B).agrees


def test_a_tag_that_is_two_images_is_reported() -> None:
    proofs = [_proof(_place(), A, _pod(A, digest)) for digest in (D1, D2)]
    assert all(each.agrees for each in proofs)
    assert moved_tags(proofs) == {"aaaaaaa": (D1, D2)}
    assert moved_tags(proofs[:1]) == {}
    # What runs another image altogether says nothing of the tag.
    assert moved_tags([proofs[0], _proof(_place(), B, _pod(B, D2))]) == {}


def test_a_pod_that_ended_for_good_says_so() -> None:
    assert pod_of({"status": {"phase": "Failed"}}).over
    assert not pod_of({"status": {"phase": "Running"}}).over
    assert not pod_of({}).over


def test_a_shard_that_is_turned_off_names_the_line() -> None:
    """It has a workload and no pods, which is what is declared."""
    off = Override(shard="one", disabled=True, where="integrations/a.yml:9")
    (place,) = estate(integration("a", managed(accounts=True, overrides=(off,)))).places
    rows = {unit.name: row_of(place, unit, "Deployment", {}, {}, {}) for unit in place.units}
    assert (rows["a/one"].disabled_by, rows["a/one"].of) == ("integrations/a.yml:9", 0)
    assert (rows["a/two"].disabled_by, rows["a/two"].of) == ("", 1)
