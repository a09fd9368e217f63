"""`serve` keeps clusters equal to Git: everything that is declared, not images alone."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from tests.kept import BASE, NAMESPACE, PARTITION, Kept, play
from tests.staged import TIERS, rules
from tidegate.explain.sentence import sentence
from tidegate.gates.brakes import Brakes
from tidegate.journal.facts import Acted, Braked, Lifted, TaskOutcome
from tidegate.journal.shadow import Shadowed
from tidegate.kinds.integrations.app.survey import KINDS
from tidegate.kinds.integrations.core.objects.facts import ObjectsSeen
from tidegate.kinds.integrations.rules import NamespaceRules, NamespaceState
from tidegate.kinds.rollouts.core.reasons import RolloutReason
from tidegate.kinds.rollouts.rules import RolloutRules
from tidegate.kubernetes.simulated.cluster import SimulatedCluster
from tidegate.model.errors import OutsideError
from tidegate.model.reason import Gate
from tidegate.model.time import SECOND

UNIT = "terraform-resources/ter-int-dev"
DEV = "terraform-resources-ter-int-dev"


async def begun(kept: Kept) -> None:
    """Everything is there as it is declared."""
    kept.begin()
    await kept.wait(60)
    assert kept.decided().view.summary == "Succeeded"


def test_everything_declared_is_created_and_then_nothing_is_done() -> None:
    """The Service, too; the journal grows no more."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        names = {f"Deployment/{BASE}terraform-resources-{name}" for name in TIERS}
        assert set(kept.documents()) >= names | {"Service/qontract-reconcile"}
        head = kept.store.head(PARTITION).seq
        await kept.wait(300)
        assert kept.store.head(PARTITION).seq == head

    play(story)


def test_an_override_is_carried_out_within_a_round_and_why_says_so() -> None:
    """An image of its own, resources of its own, and back; no other shard is touched."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        before = kept.documents()
        kept.git.overrides = [{"shard": "ter-int-dev", "imageRef": "fix-1"}]
        await kept.wait()
        assert kept.tag(DEV) == "fix-1"
        row = kept.row(UNIT)
        assert (row.state, row.revision) == ("Done", "fix-1")
        assert [each.outcome for each in kept.acted()][-1] is TaskOutcome.DONE
        after = kept.documents()
        changed = {name for name in after if _spec(after[name]) != _spec(before[name])}
        assert changed == {f"Deployment/{BASE}{DEV}"}
        resources = {"requests": {"cpu": "2", "memory": "9Gi"}}
        kept.git.overrides = [{"shard": "prod-1", "resources": resources}]
        await kept.wait()
        container = _spec(kept.documents()[f"Deployment/{BASE}terraform-resources-prod-1"])
        assert container["template"]["spec"]["containers"][0]["resources"] == resources
        # Nothing is pinned any more: its rollout moves the image back.
        await kept.wait(300)
        assert kept.tag(DEV) == "good-1"

    play(story)


def test_arguments_and_resources_of_all_go_at_once_while_an_image_waits_for_its_wave() -> None:
    """The image of each shard is the one that its rollout has given it so far."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        kept.git.image = "stuck-2"
        await kept.wait(40)
        assert (kept.tag(DEV), kept.tag("terraform-resources-prod-1")) == ("stuck-2", "good-1")
        kept.git.fields = "extraArgs: --more, "
        await kept.wait()
        for name in TIERS:
            found = kept.workload(f"terraform-resources-{name}")
            assert found is not None
            assert "--more" in found.env["INTEGRATION_EXTRA_ARGS"]
        assert (kept.tag(DEV), kept.tag("terraform-resources-prod-1")) == ("stuck-2", "good-1")
        row = kept.row("terraform-resources/prod-1")
        assert row.state == "Done"
        assert row.shut is not None
        assert "keeps good-1" in sentence(row.shut)

    play(story)


def test_an_integration_is_added_and_removed() -> None:
    """Added at once; removed where it is few, by its own decision."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        kept.git.numbered = 1
        await kept.wait()
        assert kept.workload("gitlab-housekeeping") is not None
        kept.git.numbered = 0
        await kept.wait(40)
        assert kept.workload("gitlab-housekeeping") is None
        assert kept.decided().view.summary == "Succeeded"

    play(story)


def test_most_of_a_namespace_is_never_removed_unless_it_is_allowed() -> None:
    """Sixty in a hundred are withheld, with the numbers; and stay until a person says so."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        there = set(kept.documents())
        for name in ("prod-1", "prod-2", "prod-3", "stage-2"):
            del kept.git.accounts[name]
        await kept.wait(120)
        assert set(kept.documents()) == there
        row = kept.row("terraform-resources/prod-1")
        assert row.shut is not None
        assert sentence(row.shut) == "4 of 7 at once; at most 1 without --allow-mass-delete"
        assert "terraform-resources/prod-1" in kept.decided().view.needs.failures
        await kept.kill()
        await kept.wait(60)
        kept.begin(allow_mass_delete=True)
        await kept.wait(60)
        assert kept.workload("terraform-resources-prod-1") is None
        assert kept.workload(DEV) is not None

    play(story)


def test_a_bundle_that_cannot_be_read_removes_nothing_and_a_gap_neither() -> None:
    """Nothing is concluded from what is not there."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        del kept.git.accounts["prod-3"]
        kept.git.sharding = "strategy: per-aws-accounts"
        await kept.wait(60)
        assert kept.workload("terraform-resources-prod-3") is not None
        kept.git.sharding = "strategy: per-aws-account"

        def ill(call: str) -> None:
            if call == "read CronJob":
                raise OutsideError("one: ns: cronjobs: no answer")

        kept.faults = ill
        await kept.wait(60)
        assert kept.workload("terraform-resources-prod-3") is not None
        row = kept.row("terraform-resources/prod-3")
        assert row.shut is not None
        assert "not everything could be read" in sentence(row.shut)
        kept.faults = lambda _: None
        await kept.wait(60)
        assert kept.workload("terraform-resources-prod-3") is None

    play(story)


def test_a_hold_stops_a_change_and_lifting_it_lets_it_go() -> None:
    """By the name of the shard or by its labels, as for rollouts; others are not held."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        scopes = ({"targets": [UNIT]}, {"selector": {"matchLabels": {"tier": "canary"}}})
        for number, scope in enumerate(scopes, 1):
            hold = {"name": "inc", "owner": "ada", "reason": "incident", "scope": scope}
            kept.brake(Braked(brake="hold", name="inc", document=hold))
            kept.git.arguments = f"--number {number}"
            await kept.wait(40)
            row = kept.row(UNIT)
            assert row.shut is not None
            assert row.shut.gate is Gate.HOLD
            assert f"--number {number}" not in _arguments(kept, DEV)
            assert f"--number {number}" in _arguments(kept, "terraform-resources-prod-1")
            kept.brake(Lifted(brake="hold", name="inc"))
            await kept.wait()
            assert f"--number {number}" in _arguments(kept, DEV)

    play(story)


def test_a_namespace_that_no_integration_names_is_found_and_explained() -> None:
    """By our label on its objects, by a worker that never saw it, too; all of it is withheld."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        kept.git.namespace = "other"
        await kept.kill()
        await kept.wait(60)
        kept.begin()
        await kept.wait(120)
        assert kept.decided("integrations/one.other").view.summary == "Succeeded"
        row = kept.row(UNIT)
        assert row.shut is not None
        assert sentence(row.shut) == "7 of 7 at once; at most 1 without --allow-mass-delete"
        assert kept.decided().worker.leader is not None

    play(story)


def _arguments(kept: Kept, name: str) -> str:
    found = kept.workload(name)
    assert found is not None
    return found.env["INTEGRATION_EXTRA_ARGS"]


def test_another_number_of_shards_ends_the_old_ones_first() -> None:
    """Two numbers of shards never have pods at once."""

    async def story(kept: Kept) -> None:
        kept.git.numbered = 2
        await begun(kept)
        kept.git.numbered = 3
        for _ in range(80):
            await asyncio.sleep(2)
            shapes = {
                each["value"]
                for key, record in kept.api.records.items()
                if key[0].name == "Pod" and "gitlab" in key[2]
                for each in kept.api.document(record)["spec"]["containers"][0]["env"]
                if each["name"] == "SHARDS"
            }
            assert len(shapes) <= 1
        names = {name for name in kept.documents() if "gitlab" in name}
        assert names == {f"Deployment/{BASE}gitlab-housekeeping-{at}" for at in range(3)}
        assert kept.decided().view.summary == "Succeeded"

    play(story)


def test_a_shard_of_another_manager_ends_before_another_number_of_shards_begins() -> None:
    """Its keys would have two owners; what is ours runs on until it is gone."""
    partition = f"integrations/gitlab-housekeeping@one.{NAMESPACE}+shards"
    theirs = f"{BASE}gitlab-housekeeping-1"

    def shapes(kept: Kept) -> set[str]:
        return {
            each["value"]
            for name, document in kept.documents().items()
            if "gitlab" in name
            for each in document["spec"]["template"]["spec"]["containers"][0]["env"]
            if each["name"] == "SHARDS"
        }

    async def story(kept: Kept) -> None:
        kept.git.numbered = 2
        await begun(kept)
        cluster = SimulatedCluster(kept.api)
        (one,) = (
            each for each in (await cluster.read(NAMESPACE, KINDS)).objects if each.name == theirs
        )
        await cluster.release(one)
        kept.git.numbered = 3
        for _ in range(40):
            await asyncio.sleep(5)
            assert shapes(kept) == {"2"}
        assert len([name for name in kept.documents() if "gitlab" in name]) == 2
        (said,) = {sentence(row.shut) for row in kept.decided(partition).view.targets if row.shut}
        assert said == f"the end of another manager's {theirs} comes first"
        (key,) = (each for each in kept.api.records if each[2] == theirs)
        kept.api.remove(key)
        await kept.wait(600)
        names = {name for name in kept.documents() if "gitlab" in name}
        assert names == {f"Deployment/{BASE}gitlab-housekeeping-{at}" for at in range(3)}
        assert shapes(kept) == {"3"}

    play(story)


@pytest.mark.parametrize("before_s", [0, 600], ids=["under way", "completed"])
def test_an_image_waits_for_another_number_of_shards_and_starts_nothing_meanwhile(
    before_s: float,
) -> None:
    """What may not be carried out is not decided: its verdict says what comes first."""
    partition = f"integrations/gitlab-housekeeping@one.{NAMESPACE}"

    async def story(kept: Kept) -> None:
        kept.git.numbered = 2
        await begun(kept)
        await kept.wait(before_s)
        kept.git.numbered = 3
        said: set[str] = set()
        for _ in range(80):
            await asyncio.sleep(2)
            view = kept.decided(partition).view
            for row in view.targets:
                if row.shut is not None and row.shut.reason is RolloutReason.BusyElsewhere:
                    said.add(sentence(row.shut))
                    assert not row.starts
        assert said == {"resharding 2 to 3 comes first"}
        # One that is noticed only when it is to be carried out is dropped, once.
        dropped = [each for each in kept.acted(partition) if "comes first" in each.detail]
        assert len(dropped) <= len(kept.decided(partition).view.targets)
        await kept.wait(600)
        assert kept.decided(partition).view.summary == "Succeeded"
        beside = RolloutRules().shadow(kept.store.read(partition), lambda *_: {})
        assert beside is not None
        assert not beside.differ

    play(story)


def replicas(count: int) -> Any:
    """A person scales something."""

    def change(document: dict[str, Any]) -> None:
        document["spec"] = {"replicas": count}

    return change


def test_drift_is_put_back_and_its_author_is_named() -> None:
    """On the next look; the journal says whose fields were taken."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        await kept.edit(DEV, replicas(4), "kubectl-edit")
        await kept.wait()
        found = kept.workload(DEV)
        assert found is not None
        assert found.replicas == 1
        last = kept.acted()[-1]
        assert (last.target, last.outcome) == (UNIT, TaskOutcome.DONE)
        assert "kubectl-edit" in last.detail
        assert "replicas" in last.detail
        entries = kept.store.read(PARTITION)
        assert any("kubectl-edit" in str(entry.fact()) for entry in entries)

    play(story)


def test_a_change_that_is_seen_is_not_left_until_the_next_resync() -> None:
    """The watch of workloads tells of it: whole minutes before the namespace is read anyway."""

    async def story(kept: Kept) -> None:
        kept.begin(resync_s=900)
        await kept.wait(120)
        await kept.edit(DEV, replicas(4), "kubectl-edit")
        await kept.wait(30)
        found = kept.workload(DEV)
        assert found is not None
        assert found.replicas == 1

    play(story)


def test_one_who_changes_it_again_and_again_is_not_fought_for_ever() -> None:
    """Three times within an hour at once; then ever more seldom, and a person is play."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        for _ in range(40):
            await kept.edit(DEV, replicas(4), "autoscaler")
            await kept.wait(60)
        done = [
            each for each in kept.acted() if each.target == UNIT and "autoscaler" in each.detail
        ]
        assert 3 <= len(done) <= 7
        row = kept.row(UNIT)
        assert row.shut is not None
        assert "changed again each time" in sentence(row.shut)
        assert row.shut.until is not None
        assert UNIT in kept.decided().view.needs.failures

    play(story)


def test_a_worker_killed_in_the_middle_costs_a_round() -> None:
    """What was decided and not done is done by the next one; nothing is done twice."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        calls = 0

        def fault(call: str) -> None:
            nonlocal calls
            calls += call == "apply"
            if calls > 4:
                raise OutsideError("one: no answer")

        kept.faults = fault
        kept.git.fields = "extraArgs: --more, "
        await kept.wait(12)
        await kept.kill()
        kept.faults = lambda _: None
        await kept.wait(40)
        kept.begin()
        await kept.wait(60)
        for name in TIERS:
            found = kept.workload(f"terraform-resources-{name}")
            assert found is not None
            assert "--more" in found.env["INTEGRATION_EXTRA_ARGS"]
        assert kept.decided().view.summary == "Succeeded"

    play(story)


def test_what_is_not_ours_is_shown_and_never_touched() -> None:
    """Neither changed nor removed; it is adopted by hand."""

    async def story(kept: Kept) -> None:
        await kept.run_by("the-manager")
        kept.begin()
        await kept.wait(120)
        assert f"{BASE}{DEV}" not in kept.ours()
        row = kept.row(UNIT)
        assert row.shut is not None
        assert "not Tidegate's" in sentence(row.shut)
        assert kept.decided().view.summary == "Waiting"

    play(story)


def test_observing_changes_nothing() -> None:
    """What would be done is decided, explained and recorded."""

    async def story(kept: Kept) -> None:
        kept.begin(act=())
        await kept.wait(60)
        assert not kept.documents()
        assert kept.row(UNIT).starts
        assert not kept.acted()

    play(story)


def test_a_default_image_that_is_not_known_is_told_where_people_look() -> None:
    """In `why` and `status` of the namespace and of the rollout; nothing is changed or removed."""

    async def story(kept: Kept) -> None:
        kept.git.image, kept.git.tag = "", "c0ffee0"
        await begun(kept)
        there = kept.documents()
        kept.git.tag = ""
        await kept.wait(60)
        assert {n: _spec(d) for n, d in kept.documents().items()} == {
            n: _spec(d) for n, d in there.items()
        }
        row = kept.row(UNIT)
        assert row.state == "Waiting"
        assert row.shut is not None
        assert sentence(row.shut).startswith("no default image in production: no saas target")
        view = kept.decided().view
        assert UNIT in view.needs.failures
        assert "no default image in production" in view.headline
        rollout = kept.decided(kept.git.partition)
        assert "no default image in production" in rollout.worker.trouble
        assert rollout.worker.stale
        # Known again, it goes on.
        kept.git.tag = "c0ffee1"
        await kept.wait(60)
        assert kept.decided().view.needs.failures == ()

    play(story)


WAVES = rules(soak="2m", deadline="30m") + "  changes: {fields: waves}\n"


def test_fields_go_in_waves_where_the_rules_say_so() -> None:
    """Canary, then stage after it ran for a while, then the rest, two at a time."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        kept.git.fields = "extraArgs: --more, "

        def have() -> set[str]:
            return {
                name
                for name in TIERS
                for found in (kept.workload(f"terraform-resources-{name}"),)
                if found is not None and "--more" in found.env["INTEGRATION_EXTRA_ARGS"]
            }

        await kept.wait(40)
        assert have() == {"ter-int-dev"}
        row = kept.row("terraform-resources/stage-1")
        assert row.shut is not None
        assert sentence(row.shut).startswith("canary has it, and is given time")
        seen = [have()]
        for _ in range(60):
            await kept.wait(10)
            if have() != seen[-1]:
                seen.append(have())
        assert seen[-1] == set(TIERS)
        assert {"ter-int-dev", "stage-1", "stage-2"} in seen
        assert all(len(after - before) <= 2 for before, after in pairwise(seen))

    play(story, WAVES)


def _spec(document: Any) -> Any:
    return document.get("spec")


def test_a_manager_is_shadowed_adopted_and_given_back() -> None:
    """What it does is what we would do; after adoption we do it, and after release it does again.

    Nothing restarts on the way.
    """

    async def story(kept: Kept) -> None:
        manager = "integrations-manager"
        await kept.run_by(manager)
        kept.begin(act=())
        await kept.wait(60)
        assert kept.decided().view.summary == "Waiting"
        kept.git.arguments = "--more"
        await kept.wait()
        before = shadowed(kept)
        assert not before.decisions
        assert {each.target for each in before.ours_only} == {
            f"terraform-resources/{name}" for name in TIERS
        }
        await kept.run_by(manager)
        await kept.wait()
        after = shadowed(kept)
        assert len(after.decisions) == len(TIERS)
        assert not after.differ
        assert not after.ours_only
        # Of images there is nothing to compare beside that, while all shards are the manager's.
        images = kept.store.read(f"integrations/terraform-resources@one.{NAMESPACE}")
        assert RolloutRules().shadow(images, lambda *_: {}) is None
        # What is changed there and not in Git is no change of ours.
        await kept.edit(DEV, replicas(4), "a-person")
        await kept.wait()
        assert [each.target for each in shadowed(kept).differ] == [UNIT]
        await kept.edit(DEV, replicas(1), "a-person")
        await kept.wait(60)  # until the pods that are too many have ended
        pods = _pods(kept)
        estate = await kept.git.estates.read()
        await kept.adopt(estate)
        await kept.kill()
        await kept.wait(40)
        kept.begin()
        await kept.wait(60)
        assert kept.decided().view.summary == "Succeeded"
        assert _pods(kept) == pods
        kept.git.overrides = [{"shard": "ter-int-dev", "imageRef": "fix-1"}]
        await kept.wait()
        assert kept.tag(DEV) == "fix-1"
        kept.git.overrides = []
        await kept.wait(300)
        await kept.kill()
        pods = _pods(kept)
        await kept.release()
        await kept.run_by(manager)
        assert not kept.ours()
        assert _pods(kept) == pods

    play(story)


def shadowed(kept: Kept) -> Shadowed:
    """The manager's changes beside ours."""
    found = NamespaceRules().shadow(kept.store.read(PARTITION), lambda *_: {})
    assert found is not None
    return found


def _pods(kept: Kept) -> set[str]:
    return {record.uid for key, record in kept.api.records.items() if key[0].name == "Pod"}


def test_what_was_carried_out_does_not_wait_to_start() -> None:
    """Until it is looked at again, which is at once, it is under way: in every view."""

    async def story(kept: Kept) -> None:
        await begun(kept)
        kept.git.fields = "extraArgs: --more, "
        await kept.wait(60)
        rules_, state, checked = NamespaceRules(), NamespaceState(), 0
        accepted_at = None
        for entry in kept.store.read(PARTITION):
            fact = entry.fact()
            state = rules_.fold(state, entry.at, fact, entry.actor)
            if isinstance(fact, ObjectsSeen) and accepted_at is not None:
                assert entry.at - accepted_at < 5 * SECOND
                accepted_at = None
            if not isinstance(fact, Acted) or fact.outcome is not TaskOutcome.DONE:
                continue
            accepted_at = accepted_at or entry.at
            world = rules_.world(state, Brakes(), entry.at, lambda _: None)
            assert world is not None
            view = rules_.view(PARTITION, state, world, rules_.decide(world, entry.at), entry.at)
            row = next(each for each in view.targets if each.name == fact.target)
            assert (row.state, row.starts, row.waits) == ("Updating", False, False)
            assert view.summary == "Progressing"
            checked += 1
        assert checked > len(TIERS)

    play(story)
