"""Which shards a change affects, with which images they are tried, and why."""

from collections.abc import Mapping

import pytest

from tests.bundles import DEFAULT_TAG, INVENTORY, PRODUCTION, bundle_of
from tidegate.kinds.integrations.app.check.report import tag_in
from tidegate.kinds.integrations.app.estates import estate_in
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.review.affected import (
    Affected,
    CheckedSide,
    affected_by,
)
from tidegate.kinds.integrations.core.review.effect import effects_of
from tidegate.kinds.integrations.core.workloads.estate import Site
from tidegate.model.errors import UserError

ACCOUNT, NAMESPACE = "/aws/account-1.yml", "/openshift/namespace-1.yml"
EVERY = frozenset(("app-int-example-01", "app-sre", "ter-int-dev"))


def _integration(
    image: str = "imageRef: aaaaaaa, ",
    sharding: str = "strategy: per-aws-account",
    more: str = f"schemas: [/app-sre/integration-1.yml, {ACCOUNT}]",
    check: str = "cmd: terraform-resources",
    name: str = "terraform-resources",
) -> str:
    place = f"""
- namespace: {{$ref: {PRODUCTION}}}
  spec: {{{image}resources: {{limits: {{memory: 1Gi}}}}}}
  sharding: {{{sharding}}}
"""
    text = f"$schema: /app-sre/integration-1.yml\nname: {name}\n{more}\n"
    text += f"pr_check: {{{check}}}\n" if check else ""
    return text + (f"managed:{place}" if sharding else "")


def _view(text: str, tag: str = "", files: Mapping[str, str] = INVENTORY) -> CheckedSide:
    bundle = bundle_of({**files, "integrations/it.yml": text})
    assert not bundle.errors, bundle.findings
    return CheckedSide(
        estate=estate_in(bundle, Site()),
        integrations=INTEGRATIONS.of(bundle).integrations,
        inventories=INTEGRATIONS.of(bundle).inventories,
        tag=tag,
    )


def _affected(base: CheckedSide, head: CheckedSide, **changed: str) -> Affected:
    """Files by their name, `_` for what a keyword cannot hold, with their schema."""
    files = {path: frozenset((schema,)) for path, schema in changed.items()}
    return affected_by(base, head, effects_of(base.estate, head.estate), files)


def _told(found: Affected) -> dict[str, tuple[str, str, str]]:
    return {
        case.shard.partition("/")[2] or case.shard: (
            case.base.revision if case.base is not None else "",
            case.head.revision,
            "; ".join(case.why),
        )
        for case in found.cases
    }


def test_nothing_is_affected_by_nothing() -> None:
    view = _view(_integration())
    assert _affected(view, view) == Affected()
    # A file that no part says it reads belongs to none.
    assert _affected(view, view, **{"a.yml": NAMESPACE}) == Affected()


def test_a_shard_that_is_pinned_to_what_it_runs_is_tried_with_it() -> None:
    """Nothing restarts, and in the merge request the pinned image still runs."""
    pinned = "strategy: per-aws-account, shardSpecOverrides: [{shard: app-sre, imageRef: aaaaaaa}]"
    base, head = _view(_integration()), _view(_integration(sharding=pinned))
    assert _told(_affected(base, head)) == {"app-sre": ("aaaaaaa", "aaaaaaa", "pinned to aaaaaaa")}
    assert _told(_affected(head, base)) == {
        "app-sre": ("aaaaaaa", "aaaaaaa", "no longer pinned to aaaaaaa")
    }


def test_an_override_is_tried_on_its_shard_with_its_image_and_nowhere_else() -> None:
    """What seed 004 asks of a merge request that pins one shard."""
    pinned = "strategy: per-aws-account, shardSpecOverrides: "
    pinned += "[{shard: {$ref: /aws/ter-int-dev/account.yml}, imageRef: f929a38}]"
    found = _affected(_view(_integration()), _view(_integration(sharding=pinned)))
    assert _told(found) == {"ter-int-dev": ("aaaaaaa", "f929a38", "image aaaaaaa → f929a38")}
    promoted = _affected(
        _view(_integration(sharding=pinned)),
        _view(_integration("imageRef: bbbbbbb, ", sharding=pinned)),
    )
    assert {name: row[:2] for name, row in _told(promoted).items()} == {
        "app-int-example-01": ("aaaaaaa", "bbbbbbb"),
        "app-sre": ("aaaaaaa", "bbbbbbb"),
    }


def test_a_file_an_integration_reads_affects_all_its_shards_whichever_image_they_have() -> None:
    pinned = "strategy: per-aws-account, shardSpecOverrides: [{shard: app-sre, imageRef: ccccccc}]"
    view = _view(_integration(sharding=pinned, more=f"schemas: [{NAMESPACE}]"))
    found = _affected(view, view, **{"namespaces/a.yml": NAMESPACE})
    assert found.by_image.keys() == {
        ("terraform-resources", "aaaaaaa"),
        ("terraform-resources", "ccccccc"),
    }
    assert set(_told(found)) == EVERY
    assert {row[2] for row in _told(found).values()} == {"changed: namespaces/a.yml"}


def test_the_file_of_an_account_affects_its_own_shard_as_long_as_nothing_else_changed() -> None:
    view = _view(_integration(more=f"schemas: [{ACCOUNT}, {NAMESPACE}]"))
    one = _affected(view, view, **{"aws/ter-int-dev/account.yml": ACCOUNT})
    assert set(_told(one)) == {"ter-int-dev"}
    assert one.cases[0].why == ("changed: aws/ter-int-dev/account.yml",)
    assert not one.cases[0].differs
    more = {"aws/ter-int-dev/account.yml": ACCOUNT, "a.yml": NAMESPACE}
    assert set(_told(_affected(view, view, **more))) == EVERY
    every = _view(
        _integration(
            check="cmd: x, check_only_affected_shards: false", more=f"schemas: [{ACCOUNT}]"
        )
    )
    assert set(_told(_affected(every, every, **{"aws/app-sre/account.yml": ACCOUNT}))) == EVERY
    static = _view(_integration(sharding="strategy: static, shards: 2"))
    numbers = _affected(static, static, **{"aws/app-sre/account.yml": ACCOUNT})
    assert set(_told(numbers)) == {"0", "1"}


def test_a_new_account_is_tried_with_nothing_to_compare_it_with() -> None:
    fewer = {path: text for path, text in INVENTORY.items() if path != "aws/app-sre/account.yml"}
    found = _affected(
        _view(_integration(), files=fewer),
        _view(_integration()),
        **{"aws/app-sre/account.yml": ACCOUNT},
    )
    assert _told(found) == {"app-sre": ("", "aaaaaaa", "created; changed: aws/app-sre/account.yml")}
    back = _affected(_view(_integration()), _view(_integration(), files=fewer))
    assert back.cases == ()
    assert [(e.shard, e.why) for e in back.skipped] == [
        ("terraform-resources/app-sre", "deleted: there is nothing to try")
    ]


def test_the_repositorys_tag_is_for_those_who_name_no_image_anywhere() -> None:
    plain, named = _integration(""), _integration()
    moved = _affected(_view(plain, "aaaaaaa"), _view(plain, "bbbbbbb"))
    assert set(_told(moved).values()) == {("aaaaaaa", "bbbbbbb", ".env: aaaaaaa → bbbbbbb")}
    assert set(_told(moved)) == EVERY
    assert _affected(_view(named, "aaaaaaa"), _view(named, "bbbbbbb")).cases == ()
    unchecked = _integration("", check="")
    assert _affected(_view(unchecked, "aaaaaaa"), _view(unchecked, "bbbbbbb")).cases == ()
    own = _integration("", check="cmd: x, imageRef: ddddddd")
    assert _affected(_view(own, "aaaaaaa"), _view(own, "bbbbbbb")).cases == ()


def test_an_override_keeps_its_image_beside_the_repositorys_tag() -> None:
    """Seed 004: the integration runs with the image of the override and with the one in .env."""
    pinned = "strategy: per-aws-account, shardSpecOverrides: [{shard: app-sre, imageRef: f929a38}]"
    text = _integration("", sharding=pinned, more=f"schemas: [{NAMESPACE}]")
    view = _view(text, "ed21267")
    found = _affected(view, view, **{"a.yml": NAMESPACE})
    assert {key[1]: len(cases) for key, cases in found.by_image.items()} == {
        "ed21267": 2,
        "f929a38": 1,
    }


def test_one_that_is_managed_nowhere_is_tried_as_its_check_says() -> None:
    text = _integration(
        sharding="", check="cmd: github-org --internal --x 'a b'", name="github-org"
    )
    found = _affected(_view(text, "aaaaaaa"), _view(text, "bbbbbbb"))
    (case,) = found.cases
    assert case.head.image == "quay.io/app-sre/qontract-reconcile:bbbbbbb"
    assert case.head.arguments == "--internal --x 'a b'"
    assert case.head.variables["INTEGRATION_EXTRA_ARGS"] == "--internal --x 'a b'"
    assert case.head.variables["DRY_RUN"] == "--dry-run"
    assert case.base is not None
    assert case.base.revision == "aaaaaaa"


def test_what_is_disabled_or_stopped_is_named_and_not_tried() -> None:
    off = _integration("imageRef: bbbbbbb, ", check="cmd: x, disabled: true")
    found = _affected(_view(_integration()), _view(off))
    assert found.cases == ()
    assert {each.why for each in found.skipped} == {"pr_check.disabled"}
    stopped = "strategy: per-aws-account, shardSpecOverrides: [{shard: app-sre, disabled: true}]"
    one = _affected(_view(_integration()), _view(_integration(sharding=stopped)))
    assert one.cases == ()
    assert [each.why for each in one.skipped] == ["stopped by its override"]


def test_what_always_runs_is_affected_by_anything_and_a_changed_check_by_itself() -> None:
    always = _view(_integration(check="cmd: x, always_run: true"))
    assert {row[2] for row in _told(_affected(always, always)).values()} == {"pr_check.always_run"}
    found = _affected(_view(_integration()), _view(_integration(check="cmd: other")))
    assert {row[2] for row in _told(found).values()} == {"its pr_check changed"}


def test_a_dry_run_stays_one_whatever_the_environment_says() -> None:
    """The manager respects a variable of its own; both are asked to change nothing."""
    acting = DEFAULT_TAG.replace("}", ", DRY_RUN: --no-dry-run, MANAGER_DRY_RUN: --no-dry-run}")
    path = "products/environments/production.yml"
    files = {**INVENTORY, path: INVENTORY[path].replace(DEFAULT_TAG, acting)}
    text = _integration(sharding="strategy: static", name="integrations-manager")
    head = _view(text.replace("aaaaaaa", "bbbbbbb"), files=files)
    (case,) = _affected(_view(text, files=files), head).cases
    told = {name: value for name, value in case.head.variables.items() if "DRY_RUN" in name}
    assert told == {"DRY_RUN": "--dry-run", "MANAGER_DRY_RUN": "--dry-run"}
    assert case.head.variables["RUN_ONCE"] == "true"
    assert "UNLEASH_CLIENT_ACCESS_TOKEN" in case.head.secrets


def test_other_fields_of_a_workload_are_named() -> None:
    more = "strategy: per-aws-account, shardSpecOverrides: "
    more += "[{shard: app-sre, resources: {limits: {memory: 4Gi}}}]"
    (case,) = _affected(_view(_integration()), _view(_integration(sharding=more))).cases
    assert case.why == ("changed: resources.limits.memory",)
    assert not case.moves_image


def test_cases_come_in_their_order() -> None:
    late = _integration(check="cmd: a, always_run: true, run_order: 9", sharding="", name="a")
    bundle = bundle_of(
        {
            "integrations/a.yml": late,
            "integrations/b.yml": late.replace("a, ", "b, ", 1)
            .replace("name: a", "name: b")
            .replace("9", "1"),
        }
    )
    estate, declared = estate_in(bundle, Site()), INTEGRATIONS.of(bundle).integrations
    view = CheckedSide(estate=estate, integrations=declared, tag="c0ffee0")
    untagged = CheckedSide(estate=estate, integrations=declared)
    with pytest.raises(UserError, match="no image is known to check a with"):
        _affected(untagged, untagged)
    assert [case.base for case in _affected(untagged, view).cases] == [None, None]
    assert [case.integration for case in _affected(view, view).cases] == ["b", "a"]


def test_one_that_becomes_another_kind_of_object_is_tried_and_not_called_deleted() -> None:
    found = _affected(
        _view(_integration()), _view(_integration("imageRef: aaaaaaa, cache: true, "))
    )
    assert set(_told(found)) == EVERY
    assert {row[:2] for row in _told(found).values()} == {("aaaaaaa", "aaaaaaa")}
    assert found.skipped == ()


@pytest.mark.parametrize(
    "text, tag",
    [
        ("", ""),
        ("export RECONCILE_IMAGE_TAG=f929a38\n", "f929a38"),
        ("A=1\r\nRECONCILE_IMAGE_TAG='1234567' # digits\r\nB=2\r\n", "1234567"),
        ("RECONCILE_IMAGE_TAG=a\nexport RECONCILE_IMAGE_TAG=b", "b"),
        ("# RECONCILE_IMAGE_TAG=a\nOLD_RECONCILE_IMAGE_TAG=a\n", ""),
        ("RECONCILE_IMAGE_TAG=\n", ""),
    ],
)
def test_the_tag_is_read_as_a_shell_would_set_it(text: str, tag: str) -> None:
    assert tag_in(text.encode()) == tag


@pytest.mark.parametrize(
    "raw",
    [b"A=1\nRECONCILE_IMAGE_TAG=$OTHER\n", b"B=2\nA='caf\xe9'\n", b"\nRECONCILE_IMAGE_TAG=a b"],
)
def test_a_tag_that_another_program_decides_is_not_guessed(raw: bytes) -> None:
    with pytest.raises(UserError, match=r"\.env:2"):
        tag_in(raw)
