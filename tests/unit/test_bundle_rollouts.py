"""How images move is said once for all, for an integration or for one place; the nearest counts."""

import msgspec
import pytest

from tests.bundles import INVENTORY, PRODUCTION, TESTING, bundle_of, with_integration
from tidegate.bundle.section import Bundle
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.waves.rules import ChangePace, ChangeRules, ImageRules
from tidegate.kinds.rollouts.core.strategy import OnFailure, StrategyType

CAREFUL = """
type: ProgressivePerGroup
progressivePerGroup: {minSuccessTime: 30m, maxConcurrency: 2}
onFailure: rollback
groups:
- {name: canary, matchLabels: {tier: canary}}
"""
SETTINGS = "$schema: /app-interface/app-interface-settings-1.yml\nname: all\nrollout:\n"
HEAD = "$schema: /app-sre/integration-1.yml\nname: terraform-resources\n"
SPEC = "spec: {resources: {requests: {cpu: 100m, memory: 100Mi}}}"


def indented(text: str, by: int = 2) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.strip().splitlines())


def places(production: str = "", testing: str = "") -> str:
    return (
        f"managed:\n- namespace: {{$ref: {PRODUCTION}}}\n  {SPEC}\n{production}"
        f"- namespace: {{$ref: {TESTING}}}\n  {SPEC}\n{testing}"
    )


def read(integration: str, **files: str) -> Bundle:
    more = {f"{name}.yml": text for name, text in files.items()}
    return bundle_of({**INVENTORY, "integrations/t.yml": integration, **more})


def rules(bundle: Bundle) -> list[ImageRules | None]:
    (one,) = INTEGRATIONS.of(bundle).integrations
    return [managed.rollout for managed in one.managed]


def test_without_any_rules_nothing_is_staged() -> None:
    assert rules(read(HEAD + places())) == [None, None]


def test_changes_go_at_once_unless_their_rule_says_otherwise() -> None:
    plain, ruled = (
        rules(read(HEAD + "rollout:\n" + indented(CAREFUL + more) + places()))[0]
        for more in ("", "changes: {new: waves, fields: waves, removals: byHand}\n")
    )
    assert plain is not None
    assert plain.changes == ChangeRules()
    assert set(msgspec.structs.astuple(plain.changes)) == {ChangePace.AT_ONCE}
    assert ruled is not None
    assert ruled.changes == ChangeRules(
        new=ChangePace.WAVES, fields=ChangePace.WAVES, removals=ChangePace.BY_HAND
    )


def test_rules_for_all_reach_every_place_and_say_where_they_stand() -> None:
    bundle = read(HEAD + places(), settings=SETTINGS + indented(CAREFUL))
    assert not bundle.findings
    one, other = rules(bundle)
    assert one == other
    assert one is not None
    assert one.where == "settings.yml:4"
    assert one.strategy.type is StrategyType.PROGRESSIVE_PER_GROUP
    assert one.strategy.on_failure is OnFailure.ROLLBACK
    assert [group.name for group in one.groups] == ["canary"]
    assert (one.runs, one.failing_runs, one.dry_run) == (3, 3, None)


def test_the_nearest_rules_count() -> None:
    own = "rollout:\n" + indented("type: Progressive\nruns: 5\ndryRun: {shard: app-sre}")
    nearest = "  rollout: {type: All}\n"
    bundle = read(HEAD + own + places(nearest), settings=SETTINGS + indented(CAREFUL))
    one, other = rules(bundle)
    assert one is not None
    assert other is not None
    assert (one.strategy.type, one.where) == (StrategyType.ALL, "integrations/t.yml:10")
    assert (other.strategy.type, other.runs) == (StrategyType.PROGRESSIVE, 5)
    assert other.dry_run is not None
    assert other.dry_run.shard == "app-sre"
    assert other.where == "integrations/t.yml:4"


def test_rules_can_stand_in_a_file_of_their_own() -> None:
    kept = "$schema: /tidegate/rollout-1.yml\nname: careful\n" + CAREFUL.strip() + "\n"
    bundle = read(HEAD + "rollout: {$ref: /careful.yml}\n" + places(), careful=kept)
    assert not bundle.findings
    (one, _) = rules(bundle)
    assert one is not None
    assert one.where == "careful.yml:1"


WRONG = [
    ("type: Progresive", "Progresive", 'did you mean "Progressive"?'),
    ("type: Progressive\nprogressive: {maxConcurrency: many}", '"many"', "write"),
    ("type: Progressive\nrun: 5", "unknown field", 'did you mean "runs"?'),
    ("type: Progressive\nfailingRuns: 0", "0 would fail all shards", "1 or more"),
    ("type: Progressive\nvia: gitt", '"gitt"', "git"),
    ("type: Progressive\nruns: -1", "-1 is not a whole number", "write 0"),
    ("type: Progressive\ngroups: [{name: a}]", "chooses all shards", "matchLabels"),
    ("type: Progressive\ngroups: [{matchLabels: {a: b}}]", "missing", "name the group"),
    ("type: Progressive\ndryRun: {shards: a}", "unknown field", 'did you mean "shard"?'),
    ("type: Progressive\nchanges: {field: waves}", "unknown field", 'did you mean "fields"?'),
    ("type: Progressive\nchanges: {fields: wave}", "is not known here", 'did you mean "waves"?'),
    ("type: Progressive\nchanges: {drift: waves}", "is not known here", "atOnce, byHand"),
    ("type: All\nchanges: {fields: waves}", "there are no waves", "write type: Progressive"),
    ("type: ManualPerGroup\nchanges: {overrides: waves}", "there are no waves", "or atOnce"),
]


@pytest.mark.parametrize("text, message, remedy", WRONG, ids=[text for text, *_ in WRONG])
def test_rules_that_cannot_be_read_leave_no_place_without_rules(
    text: str, message: str, remedy: str
) -> None:
    bundle = read(HEAD + places(), settings=SETTINGS + indented(text))
    (finding,) = [each for each in bundle.findings if each.severity == "error"]
    assert message in finding.message
    assert remedy in finding.remedy
    assert (finding.file, finding.rule) == ("settings.yml", "rollout")
    assert finding.line > 3
    # Without rules every target would go at once: fail closed.
    assert rules(bundle) == []


def test_a_file_of_rules_that_is_not_there_is_reported_and_nothing_runs_without() -> None:
    bundle = read(HEAD + "rollout: {$ref: /careful.yml}\n" + places())
    assert [each.rule for each in bundle.findings] == ["reference"]
    assert rules(bundle) == []


def test_overlap_is_read_wherever_sharding_stands_and_must_agree() -> None:
    text = "  sharding: {strategy: static, shards: 3, overlap: true}\n"
    (one,) = INTEGRATIONS.of(with_integration(HEAD + places(text))).integrations
    assert [managed.sharding.overlap for managed in one.managed] == [True, False]
    twice = text + "  "
    spec = SPEC[:-1] + ", sharding: {overlap: false}}"
    wrong = HEAD + places(twice.rstrip() + "\n").replace(SPEC, spec, 1)
    assert "overlap" in with_integration(wrong).findings[0].message
