"""Laws of settled images: a digest is never lost, never another's, and nothing restarts for it."""

from hypothesis import given
from hypothesis import strategies as st

from tests.bundles import PRODUCTION, integration, with_integration
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.workloads.digests import images_of, with_digests, without
from tidegate.kinds.integrations.core.workloads.estate import Estate, estate_of, manifest_of
from tidegate.model.problem import Problems
from tidegate.registry.image import (
    digest_of,
    is_same,
    pulled_digest,
    repository_of,
    settled,
    tag_of,
)

_repositories = st.sampled_from(("quay.io/a/b", "quay.io/a/b-next", "localhost:5000/x", "busybox"))
_tags = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
_digests = st.from_regex(r"sha256:[0-9a-f]{8}", fullmatch=True)


@given(_repositories, _tags, _digests)
def test_the_parts_of_an_image_are_what_it_was_made_of(name: str, tag: str, digest: str) -> None:
    image = f"{name}:{tag}@{digest}"
    assert (repository_of(image), tag_of(image), digest_of(image)) == (name, tag, digest)
    assert repository_of(f"{name}@{digest}") == repository_of(name) == name


@given(_repositories, _tags, _digests)
def test_a_wanted_tag_gets_the_digest_it_has(name: str, tag: str, digest: str) -> None:
    image = f"{name}:{tag}"
    assert settled(image, {image: digest}) == f"{image}@{digest}"
    assert settled(image, {}) == settled(image, {f"{image}x": digest}) == image


@given(_repositories, _tags, _digests, _digests)
def test_an_image_with_a_digest_never_gets_another(
    name: str, tag: str, digest: str, other: str
) -> None:
    image = f"{name}:{tag}@{digest}"
    assert settled(image, {image: other, f"{name}:{tag}": other}) == image


@given(_repositories, _tags, _digests)
def test_what_runs_is_kept_as_it_is_written(name: str, tag: str, digest: str) -> None:
    """By tag with the digest its pod pulled, by both, or by digest alone."""
    image = f"{name}:{tag}"
    for running in (image, f"{image}@{digest}", f"{name}@{digest}"):
        assert settled(image, {image: digest}, running, digest) == running
    # No one looked at the pod: then a tag alone does not prove what runs.
    assert settled(image, {image: digest}, image) == f"{image}@{digest}"


@given(_repositories, _tags, _digests, _digests)
def test_a_moved_tag_is_another_revision(name: str, tag: str, old: str, new: str) -> None:
    image = f"{name}:{tag}"
    wanted = settled(image, {image: new})
    for running in (image, f"{image}@{old}"):
        assert is_same(wanted, running, old) == (old == new)
        kept = settled(image, {image: new}, running, old)
        assert kept == (running if old == new else wanted)


@given(_repositories, _repositories, _tags, _tags, _digests)
def test_another_tag_or_repository_is_not_the_same_whatever_its_digest(
    one: str, two: str, tag: str, other: str, digest: str
) -> None:
    same = is_same(f"{one}:{tag}@{digest}", f"{two}:{other}@{digest}")
    assert same == (one == two and tag == other)


def test_a_pod_names_the_digest_it_pulled_or_none() -> None:
    assert pulled_digest("quay.io/a/b@sha256:12") == "sha256:12"
    assert pulled_digest("docker-pullable://quay.io/a/b@sha256:12") == "sha256:12"
    assert pulled_digest("sha256:12") == pulled_digest("") == ""


MANAGED = f"""
- namespace: {{$ref: {PRODUCTION}}}
  spec:
    imageRef: ed21267
    resources: {{requests: {{cpu: 100m, memory: 100Mi}}, limits: {{memory: 200Mi}}}}
  sharding:
    strategy: per-aws-account
    shardSpecOverrides:
    - shard: {{$ref: /aws/ter-int-dev/account.yml}}
      imageRef: f929a38
    - shard: {{$ref: /aws/app-sre/account.yml}}
      imageRef: sha256:{"1" * 64}
"""
REPOSITORY = "quay.io/app-sre/qontract-reconcile"
DEFAULT, PINNED = f"{REPOSITORY}:ed21267", f"{REPOSITORY}:f929a38"


def estate() -> Estate:
    bundle = with_integration(integration(MANAGED))
    assert not bundle.errors
    declared = INTEGRATIONS.of(bundle)
    return estate_of(declared.integrations, declared.inventories, Problems())


def test_every_image_named_by_tag_is_asked_for_once_with_everywhere_it_stands() -> None:
    assert images_of(estate()) == {
        DEFAULT: ("integrations/it.yml:5",),
        PINNED: ("integrations/it.yml:12",),
    }


def test_digests_reach_revisions_and_manifests_and_leave_pins_alone() -> None:
    digests = {DEFAULT: f"sha256:{'a' * 64}", PINNED: f"sha256:{'b' * 64}"}
    found = with_digests(estate(), digests)
    (place,) = found.places
    wanted = {unit.name.rpartition("/")[2]: place.wanted(unit) for unit in place.units}
    assert place.revision == f"ed21267@sha256:{'a' * 64}"
    assert wanted == {
        "app-int-example-01": f"ed21267@sha256:{'a' * 64}",
        "ter-int-dev": f"f929a38@sha256:{'b' * 64}",
        "app-sre": f"sha256:{'1' * 64}",
    }
    images = {
        manifest_of(piece, found.site)["spec"]["template"]["spec"]["containers"][0]["image"]
        for piece in found.pieces()
        if piece.shard is not None
    }
    assert images == {
        f"{DEFAULT}@sha256:{'a' * 64}",
        f"{PINNED}@sha256:{'b' * 64}",
        f"{REPOSITORY}@sha256:{'1' * 64}",
    }
    # What is asked for stays what is written: a second look asks for the same.
    assert images_of(found) == images_of(estate())


def test_an_image_that_is_nowhere_reaches_nothing_and_nothing_follows_from_the_gap() -> None:
    found = without(estate(), {PINNED})
    (place,) = found.places
    assert [unit.name for unit in place.units if unit.name.endswith("ter-int-dev")] == []
    assert len(place.units) == len(estate().places[0].units) - 1
    assert not found.complete
    assert without(estate(), {DEFAULT}).places == ()
    assert without(estate(), ()) == estate()
