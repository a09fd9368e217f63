"""What becomes of each object, and why, case by case."""

from copy import deepcopy
from typing import Any

import pytest

from tests.estates import (
    REPOSITORY,
    Land,
    estate,
    integration,
    managed,
    namespace,
    staged,
    verbs,
)
from tidegate.kinds.integrations.core.sharding.model import Override
from tidegate.kinds.integrations.core.sharding.selection import Selection, check_names
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.kinds.integrations.core.workloads.digests import with_digests
from tidegate.kinds.integrations.core.workloads.estate import Estate, manifest_of
from tidegate.model.problem import Problems

BASE = "qontract-reconcile-"


def image(land: Land, name: str) -> str:
    """What a Deployment runs."""
    (record,) = (r for where, r in land.records().items() if where[3] == BASE + name)
    return next(str(v) for path, v in record.fields.items() if path[-1] == "image")


def test_everything_is_created_once_and_then_unchanged() -> None:
    """The Service first; the second plan has nothing to do."""
    land, wanted = Land(), estate(integration("a", managed(shards=2)), integration("b", managed()))
    assert [(done.change.kind, done.outcome) for done in land.apply(wanted)] == [
        ("Service", "created"),
        ("Deployment", "created"),
        ("Deployment", "created"),
        ("Deployment", "created"),
    ]
    assert {change.verb for change in land.plan(wanted)} == {ObjectAction.UNCHANGED}


def test_a_new_image_is_reported_with_its_restart() -> None:
    """By our own account and by the server's."""
    land = Land()
    land.apply(estate(integration("a", managed("aaaaaaa"))))
    wanted = estate(integration("a", managed("bbbbbbb")))
    for changes in (land.plan(wanted), land.foreseen(wanted)):
        (change,) = (each for each in changes if each.kind == "Deployment")
        assert (change.verb, change.restarts) == (ObjectAction.CONFIGURE, True)
        (one,) = change.differences
        assert one.field == "spec.template.spec.containers[int].image"
        assert (one.before, one.after) == (f"{REPOSITORY}:aaaaaaa", f"{REPOSITORY}:bbbbbbb")


def test_pinning_what_runs_changes_nothing() -> None:
    """The tag alone is asked for, and runs with a digest."""
    land = Land()
    digest = {"IMAGE_TAG": "aaaaaaa", "IMAGE_DIGEST": "sha256:feed"}
    land.apply(estate(integration("a", managed("")), **digest))
    assert image(land, "a") == f"{REPOSITORY}:aaaaaaa@sha256:feed"
    pinned = estate(integration("a", managed("aaaaaaa")))
    assert verbs(land.plan(pinned))[f"{BASE}a"] is ObjectAction.UNCHANGED


def test_a_change_of_an_environment_names_the_image_it_keeps() -> None:
    """IMAGE_TAG among its variables would restart it while its rollout holds it back."""
    land = Land()
    place = managed("", environmentAware=True, rollout=staged())
    land.apply(estate(integration("a", place), IMAGE_TAG="aaaaaaa"))
    wanted = estate(integration("a", place), IMAGE_TAG="bbbbbbb")
    (change,) = (each for each in land.plan(wanted) if each.kind == "Deployment")
    assert (change.verb, change.differences) == (ObjectAction.STAGED, ())
    assert change.reason == "wants bbbbbbb; keeps aaaaaaa until its rollout moves it"


def test_who_has_an_image_of_its_own_does_not_restart_when_the_environment_moves() -> None:
    """Whether an override or the integration itself names it, and though it reads IMAGE_TAG."""
    kept = Override(shard="one", image_ref="aaaaaaa")
    pinned = managed("", accounts=True, overrides=(kept,), environmentAware=True)
    named = managed("aaaaaaa", environmentAware=True)
    both = integration("a", pinned), integration("b", named)
    land = Land()
    land.apply(estate(*both, IMAGE_TAG="aaaaaaa"))
    found = verbs(land.plan(estate(*both, IMAGE_TAG="bbbbbbb")))
    assert found[f"{BASE}a-one"] is found[f"{BASE}b"] is ObjectAction.UNCHANGED
    assert found[f"{BASE}a-two"] is ObjectAction.CONFIGURE


@pytest.mark.parametrize("digest", ["", "sha256:feed"])
def test_every_way_to_move_an_image_makes_the_same_object(digest: str) -> None:
    """A rollout names the image, apply works it out: the next plan has nothing to do."""
    plain = estate(integration("a", managed("", environmentAware=True)), IMAGE_TAG="aaaaaaa")
    digests = {f"{REPOSITORY}:aaaaaaa": digest} if digest else {}
    wanted = with_digests(plain, digests)
    for piece in wanted.pieces():
        if piece.place is not None:
            named = manifest_of(piece, wanted.site, revision=piece.place.revision)
            assert named == manifest_of(piece, wanted.site)


def test_a_staged_image_is_held_and_everything_else_applied() -> None:
    """The rollout moves images; what else is declared does not wait for it."""
    land = Land()
    land.apply(estate(integration("a", managed("aaaaaaa", rollout=staged()))))
    wanted = estate(integration("a", managed("bbbbbbb", rollout=staged(), extraArgs="--more")))
    (change,) = (each for each in land.plan(wanted) if each.kind == "Deployment")
    assert change.verb is ObjectAction.CONFIGURE
    assert "keeps aaaaaaa" in change.held
    assert change.differences
    assert "image" not in {each.field.rpartition(".")[2] for each in change.differences}
    land.apply(wanted)
    assert image(land, "a") == f"{REPOSITORY}:aaaaaaa"


def test_who_joins_during_a_rollout_starts_with_what_the_others_run() -> None:
    """And with the wanted image when none is under way; a pin of its own has the say."""
    land, rules = Land(), staged()
    first = managed("aaaaaaa", accounts=True, rollout=rules)
    land.apply(estate(integration("a", first), accounts=("one", "two")))
    second = managed("bbbbbbb", accounts=True, rollout=rules)
    wanted = estate(integration("a", second), accounts=("one", "two", "three"))
    changes = {each.name: each for each in land.plan(wanted)}
    assert changes[f"{BASE}a-three"].verb is ObjectAction.CREATE
    assert "starts with aaaaaaa" in changes[f"{BASE}a-three"].reason
    land.apply(wanted)
    assert image(land, "a-three") == f"{REPOSITORY}:aaaaaaa"
    pin = Override(shard="four", image_ref="ccccccc", where="f.yml:3")
    third = managed("bbbbbbb", accounts=True, rollout=rules, overrides=(pin,))
    land.apply(estate(integration("a", third), accounts=("one", "two", "three", "four")))
    assert image(land, "a-four") == f"{REPOSITORY}:ccccccc"
    fresh = Land()
    fresh.apply(estate(integration("a", second)))
    assert image(fresh, "a-one") == f"{REPOSITORY}:bbbbbbb"


def test_an_image_of_its_own_is_applied_whatever_the_rollout_does() -> None:
    """A rollout does not move pinned shards; a pin is applied by hand."""
    land, rules = Land(), staged()
    land.apply(estate(integration("a", managed("aaaaaaa", accounts=True, rollout=rules))))
    pin = Override(shard="one", image_ref="ccccccc", where="f.yml:3")
    place = managed("bbbbbbb", accounts=True, rollout=rules, overrides=(pin,))
    found = verbs(land.plan(estate(integration("a", place))))
    assert found[f"{BASE}a-one"] is ObjectAction.CONFIGURE
    assert found[f"{BASE}a-two"] is ObjectAction.STAGED


# Resharding


@pytest.mark.parametrize(
    "before, after, told",
    [
        (managed(shards=2), managed(shards=3), "2 shards now, 3 shards wanted"),
        (managed(), managed(shards=2), "1 shard now, 2 shards wanted"),
        (managed(shards=3), managed(shards=2), "3 shards now, 2 shards wanted"),
        (
            managed(accounts=True),
            managed(accounts=True, overrides=(Override(shard="one", sub_shards=2),)),
            "whole now, 2 shards wanted",
        ),
        (managed(shards=2), managed(accounts=True), "2 shards now, whole wanted"),
        (managed(), managed(cache=True), "deployment/qontract-reconcile-a owns the same"),
    ],
)
def test_another_split_is_left_to_the_engine(before: Any, after: Any, told: str) -> None:
    """Nothing of the set is touched, and everything else is as it was."""
    land = Land()
    land.apply(estate(integration("a", before)))
    there = land.records()
    wanted = estate(integration("a", after))
    changes = [each for each in land.plan(wanted) if each.verb is not ObjectAction.UNCHANGED]
    assert {each.verb for each in changes} == {ObjectAction.RESHARD}
    assert all(each.reason.startswith(told) for each in changes)
    land.apply(wanted, allow_mass_delete=True)
    assert land.records() == there


def test_where_two_may_own_a_key_another_split_is_applied() -> None:
    """`overlap` says so; the old ones are gone afterwards."""
    land = Land()
    land.apply(estate(integration("a", managed(shards=3))))
    wanted = estate(integration("a", managed(shards=2, overlap=True)))
    land.apply(wanted, allow_mass_delete=True)
    names = {where[3] for where in land.records() if where[2] == "Deployment"}
    assert names == {f"{BASE}a-0", f"{BASE}a-1"}


def test_a_set_that_is_stopped_has_no_owners() -> None:
    """Then it can be split at once."""
    land = Land()
    stop = (Override(shard="0", disabled=True), Override(shard="1", disabled=True))
    land.apply(estate(integration("a", managed(shards=2, overrides=stop))))
    changes = verbs(land.plan(estate(integration("a", managed(shards=3)))))
    assert changes[f"{BASE}a-2"] is ObjectAction.CREATE


# Another owner's


def theirs(wanted: Estate) -> list[dict[str, Any]]:
    """What the predecessor would have made of the same."""
    found = []
    for piece in wanted.pieces():
        document = deepcopy(manifest_of(piece, wanted.site, adopted=True))
        document["metadata"]["annotations"] = {"qontract.integration": "integrations-manager"}
        document["metadata"]["labels"] = {"app": document["metadata"]["name"]}
        found.append(document)
    return found


def test_objects_of_another_owner_are_adopted_only_with_consent_and_without_a_restart() -> None:
    """Then it is ours, and left as it is."""
    land, wanted = Land(), estate(integration("a", managed(accounts=True, extraArgs=" --x ")))
    for document in theirs(wanted):
        land.somebody_applies(document)
    there = land.records()
    changes = land.foreseen(wanted)
    assert {(each.verb, each.restarts) for each in changes} == {(ObjectAction.ADOPT, False)}
    assert land.apply(wanted) == ()
    assert land.records() == there
    assert {done.outcome for done in land.apply(wanted, adopt=True)} == {"adopted"}
    for where, record in land.records().items():
        old = {path: v for path, v in there[where].fields.items() if path[0] == "spec"}
        assert {path: v for path, v in record.fields.items() if path[0] == "spec"} == old
        assert record.uid == there[where].uid
    assert {change.verb for change in land.plan(wanted)} == {ObjectAction.UNCHANGED}


def test_what_was_adopted_is_ours_in_full_once_it_gets_another_image() -> None:
    """It restarts anyway then, and its pods can be distinguished from there on."""
    land, wanted = Land(), estate(integration("a", managed("aaaaaaa")))
    for document in theirs(wanted):
        land.somebody_applies(document)
    land.apply(wanted, adopt=True)
    land.apply(estate(integration("a", managed("bbbbbbb"))), adopt=True)
    (record,) = (r for w, r in land.records().items() if w[2] == "Deployment")
    labels = [path[-1] for path in record.fields if path[:3] == ("spec", "template", "metadata")]
    assert "tidegate.dev/shard" in labels
    assert "tidegate.dev/adopted" not in {path[-1] for path in record.fields}


def test_what_is_part_of_something_else_is_left_alone_even_with_consent() -> None:
    """An owner reference says so."""
    land, wanted = Land(), estate(integration("a", managed()))
    document = theirs(wanted)[0]
    document["metadata"]["ownerReferences"] = [{"kind": "Thing", "name": "t", "uid": "1"}]
    land.somebody_applies(document)
    (change,) = (e for e in land.plan(wanted, adopt=True) if e.name == document["metadata"]["name"])
    assert change.verb is ObjectAction.CONFLICT
    assert change.reason == "it is part of thing/t, so unchanged"


def test_drift_is_put_back_and_a_field_of_another_owner_is_a_conflict() -> None:
    """What we had applied we take back; what is new to us and theirs needs consent."""
    land, wanted = Land(), estate(integration("a", managed()))
    land.apply(wanted)
    name = f"{BASE}a"
    scaled = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"replicas": 5, "selector": {"matchLabels": {"app": name}}, "template": {"x": 1}},
    }
    land.somebody_applies(scaled)
    (change,) = (each for each in land.foreseen(wanted) if each.name == name)
    assert (change.verb, change.drifted) == (ObjectAction.CONFIGURE, True)
    assert change.reason == "changed since: spec.replicas by somebody"
    newer = estate(integration("a", managed("bbbbbbb")))
    (conflict,) = (each for each in land.foreseen(newer) if each.name == name)
    assert conflict.verb is ObjectAction.CONFLICT
    assert conflict.reason.startswith("spec.replicas belongs to somebody")
    assert [d.outcome for d in land.apply(newer) if d.change.name == name] == ["conflict"]
    assert [d.outcome for d in land.apply(newer, adopt=True)] == ["configured"]


# Removal


def five(*names: str) -> Estate:
    """Integrations of these names."""
    return estate(*(integration(name, managed()) for name in names))


def test_one_may_go_and_two_of_few_may_not() -> None:
    """A tenth of what we manage at most, unless a person says so."""
    land = Land()
    land.apply(five("a", "b", "c", "d"))
    one = land.plan(five("a", "b", "c"))
    assert verbs(one)[f"{BASE}d"] is ObjectAction.REMOVE
    two = {each.name: each for each in land.plan(five("a", "b"))}
    assert two[f"{BASE}d"].verb is ObjectAction.KEPT
    assert two[f"{BASE}d"].reason == ("2 of 5 at once; at most 1 without --allow-mass-delete")
    assert (
        verbs(land.plan(five("a", "b"), allow_mass_delete=True))[f"{BASE}d"] is ObjectAction.REMOVE
    )


def test_a_large_cluster_does_not_let_a_small_one_be_emptied() -> None:
    """The limit is of what is managed there, beside the limit over all clusters."""
    land = Land("c1", "c2")
    large = integration("a", managed(shards=60))
    there = namespace("c2")
    small = integration("b", managed(where=there, shards=3))
    land.apply(estate(large, small, integration("c", managed(where=there))))
    wanted = estate(large, integration("c", managed(where=there)))
    kept = [each for each in land.plan(wanted) if each.integration == "b"]
    assert {each.verb for each in kept} == {ObjectAction.KEPT}
    assert {each.reason for each in kept} == {
        "3 of 5 at once; at most 1 without --allow-mass-delete"
    }
    allowed = verbs(land.plan(wanted, allow_mass_delete=True))
    assert allowed[f"{BASE}b-0"] is ObjectAction.REMOVE


def test_an_emptied_inventory_removes_nothing_even_if_it_is_allowed() -> None:
    """A person who wants it gone takes the integration out."""
    land = Land()
    place = integration("a", managed(accounts=True))
    land.apply(estate(place, integration("b", managed())))
    empty = estate(place, integration("b", managed()), accounts=())
    changes = [e for e in land.plan(empty, allow_mass_delete=True) if e.integration == "a"]
    assert {change.verb for change in changes} == {ObjectAction.KEPT}
    assert changes[0].reason.startswith("a has no shard left")


def test_a_bundle_with_errors_or_with_nothing_removes_nothing() -> None:
    """Nothing is concluded from what is not in it."""
    land = Land()
    land.apply(five("a", "b"))
    unsound = land.plan(five("a"), sound=False, allow_mass_delete=True)
    assert verbs(unsound)[f"{BASE}b"] is ObjectAction.KEPT


def test_a_namespace_whose_last_integration_is_gone_is_cleaned() -> None:
    """Ours are found by their label wherever they are."""
    land = Land()
    elsewhere = managed(where=namespace(name="other"))
    land.apply(estate(integration("a", managed(shards=20)), integration("b", elsewhere)))
    wanted = estate(integration("a", managed(shards=20)))
    gone = [each for each in land.plan(wanted) if each.verb is ObjectAction.REMOVE]
    assert {(each.namespace, each.kind) for each in gone} == {
        ("other", "Deployment"),
        ("other", "Service"),
    }
    land.apply(wanted)
    assert {where[1] for where in land.records()} == {"ns"}


def test_what_is_chosen_is_all_that_is_planned() -> None:
    """Removals too; and an unknown name is answered with the nearest."""
    land = Land()
    land.apply(five("a", "b", "c"))
    chosen = land.plan(five("a", "b"), selection=Selection(integrations=("a",)))
    assert set(verbs(chosen)) == {f"{BASE}a"}
    problems = Problems()
    wrong = Selection(integrations=("a-resource",), clusters=("c2",))
    check_names(wrong, five("a-resources"), problems)
    assert [each.text() for each in problems.errors] == [
        '--integration: nothing is called "a-resource"; did you mean "a-resources"?',
        '--cluster: nothing is called "c2"; there are c1',
    ]
