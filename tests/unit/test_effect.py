"""What a change of a bundle results in, object by object."""

import msgspec

from tests.estates import estate, integration, managed, namespace
from tidegate.kinds.integrations.core.review.effect import Effect, Fate, effects_of
from tidegate.kinds.integrations.core.sharding.model import Override


def _told(effects: tuple[Effect, ...]) -> list[tuple[str, str, str, str]]:
    return [(each.name, each.fate.value, each.before, each.after) for each in effects]


def test_nothing_becomes_of_what_is_the_same_or_only_stands_elsewhere() -> None:
    one = integration("tf", managed(accounts=True))
    moved = msgspec.structs.replace(
        one,
        where="integrations/tf.yml:7",
        managed=(msgspec.structs.replace(one.managed[0], where="integrations/tf.yml:99"),),
    )
    assert effects_of(estate(one), estate(one)).effects == ()
    assert effects_of(estate(one), estate(moved)).effects == ()


def test_an_override_moves_the_image_of_its_shard_alone() -> None:
    base = estate(integration("tf", managed(accounts=True)))
    override = Override(shard="two", image_ref="bbbbbbb")
    head = estate(integration("tf", managed(accounts=True, overrides=(override,))))
    (effect,) = effects_of(base, head).effects
    assert _told((effect,)) == [("qontract-reconcile-tf-two", "changed", "aaaaaaa", "bbbbbbb")]
    assert (effect.unit, effect.place, effect.environment) == ("tf/two", "tf@c1.ns", "production")
    assert effect.moves_image
    assert effect.restarts
    assert effect.others == ()


def test_pinning_every_target_to_what_they_run_is_no_effect() -> None:
    base = estate(integration("tf", managed(accounts=True)))
    pins = [Override(shard=name, image_ref="aaaaaaa") for name in ("one", "two", "three")]
    head = estate(integration("tf", managed(accounts=True, overrides=pins)))
    assert effects_of(base, head).effects == ()


def test_what_comes_and_goes_is_created_and_deleted_with_its_image() -> None:
    base = estate(integration("tf", managed(accounts=True)), accounts=("one", "two"))
    head = estate(integration("tf", managed(accounts=True)), accounts=("two", "three"))
    found = effects_of(base, head)
    assert _told(found.of(Fate.CREATED)) == [
        ("qontract-reconcile-tf-three", "created", "", "aaaaaaa")
    ]
    assert _told(found.of(Fate.DELETED)) == [
        ("qontract-reconcile-tf-one", "deleted", "aaaaaaa", "")
    ]
    assert len(found.effects) == 2


def test_another_kind_of_object_is_one_deleted_and_one_created() -> None:
    base = estate(integration("tf", managed()))
    head = estate(integration("tf", managed(cache=True)))
    assert [(each.fate, each.kind) for each in effects_of(base, head).effects] == [
        (Fate.DELETED, "Deployment"),
        (Fate.CREATED, "StatefulSet"),
    ]


def test_other_fields_are_reported_beside_the_image() -> None:
    base = estate(integration("tf", managed(environmentAware=True)))
    head = estate(integration("tf", managed("bbbbbbb", environmentAware=True, extraArgs="--more")))
    (effect,) = effects_of(base, head).effects
    assert effect.moves_image
    assert [each.after for each in effect.others] == [
        {"name": "INTEGRATION_EXTRA_ARGS", "value": "--more"}
    ]


def test_an_image_of_another_repository_is_called_by_its_whole_name() -> None:
    base = estate(integration("tf", managed()), IMAGE="quay.io/a/b")
    head = estate(integration("tf", managed()), IMAGE="quay.io/c/d")
    (effect,) = effects_of(base, head).effects
    assert (effect.before, effect.after) == ("quay.io/a/b:aaaaaaa", "aaaaaaa")


def test_what_a_broken_head_lacks_is_unknown_and_not_deleted() -> None:
    base = estate(integration("tf", managed(accounts=True)), integration("dns", managed()))
    broken = managed(accounts=True, overrides=(Override(shard="nobody"),))
    head = estate(integration("tf", broken), integration("dns", managed("bbbbbbb")))
    assert not head.complete
    found = effects_of(base, head)
    assert _told(found.effects) == [("qontract-reconcile-dns", "changed", "aaaaaaa", "bbbbbbb")]
    assert found.unknown == 3


def test_effects_are_reported_by_environment_and_by_unit() -> None:
    stage = namespace(cluster="c2", environment="stage")
    sub = Override(shard="one", sub_shards=2)
    places = (managed(accounts=True, overrides=(sub,)), managed(where=stage))
    base = estate(integration("tf", *places), accounts=("one",))
    places = (managed("bbbbbbb", accounts=True, overrides=(sub,)), managed("bbbbbbb", where=stage))
    found = effects_of(base, estate(integration("tf", *places), accounts=("one",)))
    assert {name: len(some) for name, some in found.environments.items()} == {
        "production": 2,
        "stage": 1,
    }
    assert {name: len(some) for name, some in found.units.items()} == {
        ("tf@c1.ns", "tf/one"): 2,
        ("tf@c2.ns", "tf"): 1,
    }


def test_the_service_of_a_namespace_goes_with_its_last_place() -> None:
    stage = namespace(cluster="c2", environment="stage")
    base = estate(integration("tf", managed(), managed(where=stage)))
    found = effects_of(base, estate(integration("tf", managed())))
    assert [(each.where, each.environment, each.unit) for each in found.effects] == [
        ("deployment/qontract-reconcile-tf", "stage", "tf"),
        ("service/qontract-reconcile", "stage", ""),
    ]
