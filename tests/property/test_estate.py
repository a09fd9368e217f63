"""Laws of the estate: names go both ways, units cover all shards, stamps reach no pod."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.workloads.estate import (
    Estate,
    estate_of,
    label_text,
    manifest_of,
)
from tidegate.kinds.integrations.core.workloads.workloads import render
from tidegate.model.problem import Problems
from tidegate.registry.image import image_named, is_same, revision_of
from tidegate.wiring import bundles, repositories
from tidegate.wiring.bundles import read_bundle

REPOSITORY = "quay.io/app-sre/qontract-reconcile"
_tags = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
_digests = st.from_regex(r"sha256:[0-9a-f]{8}", fullmatch=True)
_rests = st.one_of(
    _tags.map(":{}".format),
    _digests.map("@{}".format),
    st.builds(":{}@{}".format, _tags, _digests),
)
_repositories = st.sampled_from((REPOSITORY, "quay.io/other/one", f"{REPOSITORY}-next", "h:5000/x"))
_images = st.builds("{}{}".format, _repositories, _rests)


@given(_images)
def test_an_image_and_its_revision_name_each_other(image: str) -> None:
    assert image_named(revision_of(image, REPOSITORY), REPOSITORY) == image


@given(_images, _images)
def test_no_two_images_are_called_the_same(one: str, other: str) -> None:
    same = revision_of(one, REPOSITORY) == revision_of(other, REPOSITORY)
    assert same == (one == other)


@given(_images, _digests)
def test_pinning_what_runs_changes_nothing_whatever_digest_it_has(image: str, digest: str) -> None:
    plain = image.partition("@")[0]
    assert is_same(plain, plain)
    if ":" in plain.rpartition("/")[2]:
        assert is_same(plain, f"{plain}@{digest}")
        # A digest that is asked for is not there because a tag is.
        assert not is_same(f"{plain}@{digest}", plain)


@given(st.text(min_size=1, max_size=80))
def test_any_text_can_be_a_label(text: str) -> None:
    label = label_text(text)
    assert 0 < len(label) <= 63
    assert label.isascii()
    assert label[0].isalnum()
    assert label[-1].isalnum()


@pytest.fixture(scope="module")
def estate() -> Estate:
    bundle = read_bundle(
        repositories.open_tree(Path(__file__).parents[2] / "examples/app-interface"),
        bundles.bundle_cache(wanted=False),
    )
    problems = Problems()
    declared = INTEGRATIONS.of(bundle)
    found = estate_of(declared.integrations, declared.inventories, problems)
    assert not problems.errors
    assert found.complete
    return found


def test_units_cover_every_shard_once_and_sub_shards_move_together(estate: Estate) -> None:
    names = [place.name for place in estate.places]
    assert len(set(names)) == len(names)
    for place in estate.places:
        units = [unit.name for unit in place.units]
        assert len(set(units)) == len(units)
        for unit in place.units:
            assert len({shard.name for shard in unit.shards}) == 1
    production = estate.place("openshift-resources@appsrep05ue1.app-interface-production-int")
    assert production is not None
    sizes = {unit.name: len(unit.shards) for unit in production.units}
    assert sizes["openshift-resources/appsrep05ue1"] == 20
    assert sizes["openshift-resources/osd-prod-01"] == 1


def test_a_stamp_reaches_no_pod_and_no_two_pieces_are_one(estate: Estate) -> None:
    keys = [piece.key for piece in estate.pieces()]
    assert len(set(keys)) == len(keys)
    for piece in estate.pieces():
        if piece.place is None or piece.shard is None:
            continue
        manifest = manifest_of(piece, estate.site)
        bare = render(piece.shard, piece.place.managed, piece.place.ground)
        assert manifest["spec"] == bare["spec"]
        assert manifest["metadata"]["namespace"] == piece.namespace


def test_a_unit_with_an_image_of_its_own_says_where_that_stands(estate: Estate) -> None:
    place = estate.place("terraform-users@appsrep05ue1.app-interface-production-int")
    assert place is not None
    pinned = {unit.name: unit for unit in place.units}["terraform-users/ter-int-dev"]
    assert (place.revision, place.wanted(pinned)) == ("ed21267", "f929a38")
    assert pinned.pinned_by.startswith("integrations/terraform-users.yml:")
