"""What people and other tools change in the middle of a rollout: shown, refused, or put right."""

import pytest

from tests.engine.test_policy_hand_over import refused
from tests.hub_stage import (
    GROUPS,
    MINUTE,
    OBJECT,
    PARTITION,
    HubStage,
    Worker,
    adopted,
    first_given,
    play,
    snapshot,
)
from tests.policies import spec
from tidegate.kubernetes.port import (
    CLUSTER_GROUP_UPGRADE,
    CONFIG_MAP,
    PLACEMENT,
    PLACEMENT_BINDING,
    PLACEMENT_DECISION,
    POLICY,
    ROLLOUT,
    NotAllowedError,
)
from tidegate.model.errors import UserError


def pointer(stage: HubStage, cluster: str) -> str:
    """What a cluster is pointed at; empty: nothing."""
    record = stage.hub.api.records.get((CONFIG_MAP, "policies", f"tidegate-pointers-{cluster}"))
    data = stage.hub.api.document(record).get("data") if record is not None else None
    return str((data or {}).get("web", ""))


def point(stage: HubStage, cluster: str, revision: str) -> None:
    """A person moves a cluster's pointer."""
    stage.hub.put(
        CONFIG_MAP,
        "policies",
        f"tidegate-pointers-{cluster}",
        metadata={"labels": {"tidegate.dev/cluster": cluster}},
        data={"web": revision},
    )


def no_object_was_deleted(stage: HubStage) -> bool:
    return not any(agent.deleted for agent in stage.hub.agents.values())


def test_a_rollout_that_is_deleted_leaves_every_cluster_as_it_is() -> None:
    """Declared again, it goes on from there."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.write("2")
        await worker.live(2 * MINUTE)
        before, there = snapshot(stage), stage.values()
        stage.hub.drop(ROLLOUT, "policies", "web")
        assert await worker.fleet.partitions() == []
        stage.pass_time(60 * MINUTE)
        assert (snapshot(stage), stage.values()) == (before, there)
        stage.declare()
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"2"}

    assert no_object_was_deleted(play(story))


def test_a_strategy_that_is_edited_counts_from_then_on() -> None:
    """A longer soak holds the groups that are not reached; a shorter one lets them go."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        longer = {"minSuccessTime": "3h", "progressDeadline": "20m"}
        kind = "ProgressivePerGroup"
        stage.declare(rolloutStrategy={"type": kind, "progressivePerGroup": longer})
        await worker.live(60 * MINUTE)
        assert set(stage.values()) == {"dev-1", "dev-2"}
        stage.declare()
        await worker.live(60 * MINUTE)
        assert len(stage.values()) == 6

    play(story)


def test_a_root_that_a_person_disables_is_refused_until_it_is_enabled() -> None:
    """The hub takes the policy from every cluster by that; Tidegate says what differs."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        record = stage.hub.api.records[POLICY, "policies", "web"]
        root = stage.hub.api.document(record)
        notes = {"annotations": root["metadata"]["annotations"]}
        off = {**root["spec"], "disabled": True}
        stage.hub.put(POLICY, "policies", "web", metadata=notes, spec=off)
        said = await refused(worker)
        assert "policy/policies/web: spec.disabled is true, and was false" in said
        stage.hub.put(POLICY, "policies", "web", metadata=notes, spec=root["spec"])
        await worker.live(60 * MINUTE)
        assert len(stage.values()) == 6

    play(story)


def test_a_policy_that_is_unbound_in_the_middle_is_refused_and_goes_on_once_it_is_bound() -> None:
    """No pointer moves meanwhile."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        stage.hub.drop(PLACEMENT_BINDING, "policies", "web")
        assert "is bound to no placement" in await refused(worker)
        stage.pass_time(60 * MINUTE)
        assert {pointer(stage, f"{env}-1") for env in ("stage", "prod")} == {""}
        stage.bind("fleet")
        await worker.live(60 * MINUTE)
        assert len(stage.values()) == 6

    play(story)


def test_the_group_order_turned_round_in_the_middle_deletes_nothing() -> None:
    """Nor does a cluster get the revision before its turn; the next goes in the new order."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.write("2")
        await worker.live(2 * MINUTE)
        stage.group(*reversed(GROUPS))
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"2"}
        stage.write("3")
        await worker.live(2 * MINUTE)
        assert {name for name, value in stage.values().items() if value == "3"} == {
            "prod-1",
            "prod-2",
        }

    assert no_object_was_deleted(play(story))


def test_groups_that_are_half_formed_anew_give_no_cluster_anything_before_its_turn() -> None:
    """The scheduler writes the members of a group, and then its name: in between, prod is dev."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.write("2")
        await worker.round()
        stage.hub.stops_after = 0
        members = {
            key: stage.hub.api.document(record)["status"]["decisions"]
            for key, record in sorted(stage.hub.api.records.items())
            if key[0] is PLACEMENT_DECISION and key[2].startswith("fleet-")
        }
        turned = zip(members, reversed(members.values()), strict=True)
        for key, other in turned:
            stage.hub.api.put_status(key, {"decisions": other})
        for _ in range(4):
            await worker.round()
            stage.pass_time(1)
        stage.hub.stops_after = None
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"

    stage = play(story)
    at = first_given(stage, "2")
    assert max(at[f"dev-{each}"] for each in (1, 2)) < at["stage-1"] < at["prod-1"]


def test_a_rollout_that_failed_and_goes_on_keeps_the_order_of_its_groups() -> None:
    """It is not over: an agent that answers late, or a retry, has it go on where it was."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        for name in ("dev-1", "dev-2"):
            stage.hub.agents[name].silent = True
        stage.write("2")
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Failed"
        stage.group(*reversed(GROUPS))
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"1"}
        for name in ("dev-1", "dev-2"):
            stage.hub.agents[name].silent = False
        await worker.live(120 * MINUTE)
        assert worker.summary() == "Succeeded"

    stage = play(story)
    at = first_given(stage, "2")
    assert max(at[f"dev-{each}"] for each in (1, 2)) < at["stage-1"] < at["prod-1"]


def test_a_pointer_that_a_person_moves_is_put_back() -> None:
    """A finished rollout does so at once; no agent's word of what was given so counts."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        old = pointer(stage, "dev-1")
        stage.write("2")
        await worker.live(60 * MINUTE)
        new = pointer(stage, "dev-1")
        point(stage, "dev-1", old)
        result = await worker.round()
        assert result.troubles == {"drift of dev-1": f"its pointer was moved to {old}, by another"}
        assert pointer(stage, "dev-1") == new
        result = await worker.live(10 * MINUTE)
        assert set(stage.values().values()) == {"2"}
        assert result.troubles == {}

    assert no_object_was_deleted(play(story))


def test_a_pointer_that_a_person_moves_while_it_is_written_is_not_overwritten_unseen() -> None:
    """The write is refused; the next look sees it, says so, and the cluster is put back."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        old = pointer(stage, "dev-1")
        stage.write("2")
        seen: list[str] = []

        def call(name: str) -> None:
            # Between what was read and what is written.
            if name == "set entries" and not seen:
                seen.append(pointer(stage, "dev-1"))
                point(stage, "dev-1", "moved")

        stage.hub.api.fault = call
        await worker.round()
        assert seen == [old]
        assert pointer(stage, "dev-1") == "moved"
        result = await worker.round()
        assert result.troubles["drift of dev-1"] == "its pointer was moved to moved, by another"
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert set(stage.values().values()) == {"2"}
        assert any(reason == "DriftPutBack" for reason, _ in stage.events())

    play(story)


def test_a_pointer_that_a_person_moves_too_early_counts_for_nothing() -> None:
    """The cluster waits for its turn like the others of its group."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        stage.write("2")
        await worker.live(MINUTE)
        point(stage, "prod-1", pointer(stage, "dev-1"))
        # A reading may lag behind what we gave ourselves, so that some seconds pass.
        await worker.live(2 * MINUTE)
        assert worker.part.state.reports["prod-1"].status.name == "ToApply"
        await worker.live(60 * MINUTE)
        assert worker.summary() == "Succeeded"
        assert worker.part.state.reports["prod-1"].status.name == "Succeeded"

    play(story)


def test_a_pointer_that_a_person_moves_is_left_where_that_is_wanted() -> None:
    """It is pinned, and says by whom; once the pointer is removed, the cluster is given again."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        old = pointer(stage, "dev-1")
        stage.write("2")
        await worker.live(60 * MINUTE)
        stage.declare(onDrift="leave")
        point(stage, "dev-1", old)
        await worker.live(10 * MINUTE)
        stage.write("3")
        await worker.live(60 * MINUTE)
        values = stage.values()
        assert values.pop("dev-1") == "1"
        assert set(values.values()) == {"3"}
        declared = worker.part.state.declared
        assert declared is not None
        assert declared.pinned == {"dev-1": f"its pointer was moved to {old}, by another"}
        assert declared.pinned_by == "rollout/policies/web"
        stage.hub.drop(CONFIG_MAP, "policies", "tidegate-pointers-dev-1")
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"3"}

    assert no_object_was_deleted(play(story))


def test_decisions_and_a_placement_that_a_person_deletes_are_put_back() -> None:
    """The hub takes the policy from the clusters by that; nothing calls them done meanwhile."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(60 * MINUTE)
        for kind, name in (
            (PLACEMENT_DECISION, "tidegate-web-decision-1"),
            (PLACEMENT, "tidegate-web"),
        ):
            stage.hub.drop(kind, "policies", name)
            stage.pass_time(60)
            assert stage.values() == {}
            await worker.live(60 * MINUTE)
            assert len(stage.values()) == 6
            assert worker.summary() == "Succeeded"

    play(story)


def test_a_root_that_was_rewritten_is_taken_over_again_as_it_is() -> None:
    """Every cluster has it by then; only what it was bound to has it."""

    async def story(stage: HubStage, worker: Worker) -> None:
        await worker.live(2 * MINUTE)
        assert set(stage.values()) == {"dev-1", "dev-2"}
        stage.write("7", "policies")
        stage.pass_time(60)
        assert stage.values() == {"dev-1": "7", "dev-2": "7"}
        assert "was rewritten by another tool" in await refused(worker)
        devs = [stage.hub.agents[name].objects[OBJECT] for name in ("dev-1", "dev-2")]
        before = [(each.uid, each.generation) for each in devs]
        await worker.fleet.adopt(PARTITION)
        stage.pass_time(60)
        assert [(each.uid, each.generation) for each in devs] == before
        view = await worker.fleet.view(PARTITION)
        assert view.staged
        assert set(view.pointers) == {"dev-1", "dev-2"}
        stage.write("8")
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"8"}

    assert no_object_was_deleted(play(story))


@pytest.mark.parametrize(
    "marks, words",
    [
        (
            {"annotations": {"argocd.argoproj.io/tracking-id": "fleet:policy/Policy:policies/web"}},
            "policy/policies/web: belongs to application fleet of Argo CD, which writes it back",
        ),
        (
            {"labels": {"argocd.argoproj.io/instance": "fleet"}},
            "belongs to application fleet of Argo CD",
        ),
        (
            {
                "labels": {
                    "kustomize.toolkit.fluxcd.io/name": "fleet",
                    "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
                }
            },
            "belongs to Kustomization flux-system/fleet of Flux",
        ),
        (
            {"labels": {"helm.toolkit.fluxcd.io/name": "fleet"}},
            "belongs to HelmRelease fleet of Flux",
        ),
        (
            {"annotations": {"apps.open-cluster-management.io/hosting-subscription": "p/fleet"}},
            "belongs to subscription p/fleet",
        ),
    ],
)
def test_a_root_that_another_tool_writes_is_refused(
    marks: dict[str, dict[str, str]], words: str
) -> None:
    """The same marks on the author's policy are welcome, and are not taken over to the root."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.hub.put(POLICY, "web-source", "web", metadata=marks, spec=spec())
        await worker.live(60 * MINUTE)
        assert len(stage.values()) == 6
        record = stage.hub.api.records[POLICY, "policies", "web"]
        root = stage.hub.api.document(record)
        assert not root["metadata"].get("labels")
        assert list(root["metadata"]["annotations"]) == ["tidegate.dev/staged"]
        notes = {**root["metadata"]["annotations"], **marks.get("annotations", {})}
        marked = {"labels": marks.get("labels", {}), "annotations": notes}
        stage.hub.put(POLICY, "policies", "web", metadata=marked, spec=root["spec"])
        stage.write("2")
        assert words in await refused(worker)
        with pytest.raises(UserError, match="belongs to"):
            await worker.fleet.adopt(PARTITION)
        assert set(stage.values().values()) == {"1"}

    play(story)


def test_a_cluster_group_upgrade_that_names_the_policy_is_refused_until_it_has_succeeded() -> None:
    """It enforces by batches of its own; those of other policies do not matter."""

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.write("2")
        named = {"clusters": ["dev-1"], "enable": True, "managedPolicies": ["db", "web"]}
        stage.hub.put(CLUSTER_GROUP_UPGRADE, "upgrades", "batch", spec=named)
        said = await refused(worker)
        assert 'clustergroupupgrade/upgrades/batch: enforces policies called "web"' in said
        succeeded = {"conditions": [{"type": "Succeeded", "status": "True"}]}
        stage.hub.api.put_status((CLUSTER_GROUP_UPGRADE, "upgrades", "batch"), succeeded)
        other = {**named, "managedPolicies": ["db"]}
        stage.hub.put(CLUSTER_GROUP_UPGRADE, "upgrades", "other", spec=other)
        await worker.live(60 * MINUTE)
        assert set(stage.values().values()) == {"2"}

    play(story, adopted())


def test_what_our_account_may_not_see_is_told_and_stops_nothing() -> None:
    """A hub without that manager forbids its kind as well to an account that is not allowed it."""

    def forbid(call: str) -> None:
        if "ClusterGroupUpgrade" in call:
            raise NotAllowedError("clustergroupupgrades: forbidden")

    async def story(stage: HubStage, worker: Worker) -> None:
        stage.hub.api.fault = forbid
        await worker.live(60 * MINUTE)
        assert len(stage.values()) == 6
        [warning] = (await worker.fleet.view(PARTITION)).warnings
        assert warning.text().startswith(
            "clustergroupupgrades: whether one enforces this policy is not known: "
            "clustergroupupgrades: forbidden"
        )

    play(story)


def test_a_binding_that_another_tool_writes_is_told() -> None:
    """It is pointed back with every move, so that nothing is wrong by that."""

    async def story(stage: HubStage, worker: Worker) -> None:
        record = stage.hub.api.records[PLACEMENT_BINDING, "policies", "web"]
        found = stage.hub.api.document(record)
        stage.hub.put(
            PLACEMENT_BINDING,
            "policies",
            "web",
            metadata={"labels": {"kustomize.toolkit.fluxcd.io/name": "fleet"}},
            placementRef=found["placementRef"],
            subjects=found["subjects"],
        )
        [warning] = (await worker.fleet.view(PARTITION)).warnings
        assert "placementbinding/policies/web: belongs to Kustomization fleet" in warning.text()
        await worker.live(60 * MINUTE)
        assert len(stage.values()) == 6

    play(story)
