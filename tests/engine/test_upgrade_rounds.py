"""Organisations managed by real workers, in virtual time, on simulated clusters."""

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.upgrades_live import Scene, example
from tidegate.app.documents import StatusReport
from tidegate.app.partitions.journals import Journals
from tidegate.app.rollouts import status
from tidegate.cli.main import cli
from tidegate.engine.round import RoundResult
from tidegate.journal.chain import JournalNote, genesis
from tidegate.journal.chain import verify as chain_holds
from tidegate.journal.facts import Braked
from tidegate.kind_table import rules_of
from tidegate.kinds.upgrades.app.read.organisations import (
    PublishingOrganisations,
    read_organisations,
)
from tidegate.kinds.upgrades.core.journal import state as upgrade_state
from tidegate.kinds.upgrades.core.journal.facts import Surveyed
from tidegate.kinds.upgrades.core.rules.soak import DAY
from tidegate.kinds.upgrades.ocm.documents import LogEntry
from tidegate.kinds.upgrades.ocm.port import UNAUTHORIZED, OcmRefusedError
from tidegate.kinds.upgrades.ocm.simulated.faults import FaultDraw, OcmFault, OcmFaults
from tidegate.kinds.upgrades.ocm.simulated.port import SimulatedClusters
from tidegate.kinds.upgrades.ocm.simulated.state import OcmWrite
from tidegate.store.client.memory import MemoryStore
from tidegate.wiring import open_store

# A week is lived once, in one process.
pytestmark = pytest.mark.xdist_group("upgrade rounds")

PAYMENTS, MAPS = "upgrades/prod/o-payments", "upgrades/prod/o-maps"


@pytest.fixture(scope="module")
def week() -> Scene:
    """A week of the small fleet that is shipped."""
    scene = Scene(example())
    scene.live(7 * 24)
    return scene


def made(scene: Scene) -> list[OcmWrite]:
    """The upgrades that were asked for and taken."""
    return [
        each
        for each in scene.writes
        if each.method == "POST" and "upgrade_policies" in each.path and each.status == 201
    ]


def test_a_week_upgrades_every_cluster_that_may_be(week: Scene) -> None:
    """Stage first, then production one by one; not the one whose label is a mistake."""
    assert week.versions() == {
        "maps-1": "4.16.5",
        "maps-2": "4.16.3",
        "pay-stage-1": "4.16.4",
        "pay-stage-2": "4.16.4",
        "pay-prod-1": "4.16.4",
        "pay-prod-2": "4.16.4",
    }
    order = [re.search(r"clusters/([a-z0-9-]+)-id", each.path) for each in made(week)]
    names = [each[1] for each in order if each]
    assert names.index("pay-stage-2") < names.index("pay-prod-1") < len(names)


def test_nothing_is_refused_and_nothing_is_asked_for_twice(week: Scene) -> None:
    """No cluster, control plane or node pool gets the same version twice."""
    assert all(each.status < 400 for each in week.writes)
    asked = Counter((each.path, each.body["version"]) for each in made(week))
    assert set(asked.values()) == {1}


def test_an_owner_is_notified_of_a_mistake_once_a_day(week: Scene) -> None:
    """In a service log of the cluster, under the title of before, with what to write instead."""
    logs = [each for each in week.writes if each.path.endswith("/cluster_logs")]
    assert {each.body["cluster_uuid"] for each in logs} == {"maps-2-uuid"}
    assert len(logs) == 7
    assert {each.body["summary"] for each in logs} == {"Cluster upgrade policy validation errors"}
    text = logs[0].body["description"]
    assert '"two" is not a whole number; write a whole number of days, as "3"' in text
    assert "unable to parse" not in text


def test_an_owner_whom_the_predecessor_told_is_not_told_again_the_same_day() -> None:
    """It asks for its own words under the same title; we ask for both."""
    scene = Scene(example())
    manager = scene.manager()
    known = (
        "- label sre-capabilities.aus.soak-days: Input should be a valid integer, unable to parse"
        " string as an integer"
    )
    summary = "Cluster upgrade policy validation errors"
    entry = LogEntry("maps-2-uuid", "advanced-upgrade-scheduler", summary, known)
    scene.play(lambda: manager.tell(entry, scene.now()))
    scene.live(12)
    logs = [each for each in scene.writes if each.path.endswith("/cluster_logs")]
    assert [each.body["description"] for each in logs] == [known]


def test_soak_follows_from_the_facts(week: Scene) -> None:
    """Folding all facts again gives the same; and it is what clusters really ran."""
    state = week.known(PAYMENTS)
    again = upgrade_state.UpgradeState()
    entries = list(week.store.read(PAYMENTS))
    for entry in entries:
        again = upgrade_state.fold(again, entry.at, entry.fact(), entry.actor)
    assert again == state
    assert upgrade_state.decode(upgrade_state.encode(state)) == state
    days = state.ledger.days["4.16.4", "payments"] / DAY
    assert days == pytest.approx(6.9 + 5.9 + 3.8 + 3.8, abs=0.2), "of four clusters"
    looks = [entry for entry in entries if isinstance(entry.fact(), Surveyed)]
    assert len(looks) == pytest.approx(7 * 144, abs=3)
    assert sum(len(entry.body) for entry in entries) < 150_000, "what is not new is not written"


def test_each_look_is_decided_on_once(week: Scene) -> None:
    """Not again when it has become too old to act on: nothing has changed by that."""
    looks = [entry for entry in week.store.read(PAYMENTS) if isinstance(entry.fact(), Surveyed)]
    rounds = [each for name, each in week.told if name == PAYMENTS]
    decided = [
        each for each in rounds if isinstance(each, RoundResult) and each.looked and each.is_new
    ]
    assert len(looks) <= len(decided) < 1.1 * len(looks)


def test_the_chain_of_an_organisation_holds(week: Scene) -> None:
    """As any other: nothing in it can be changed unnoticed."""
    assert chain_holds(genesis(PAYMENTS), 1, week.store.read(PAYMENTS)) is None


def test_who_only_observes_asks_for_nothing_and_tells_no_one() -> None:
    """What would be done is in the journal all the same."""
    scene = Scene(example())
    scene.live(3, scene.worker(act=()))
    assert scene.writes == []
    cluster_summaries = scene.known(PAYMENTS).stands["pay-stage-1-uuid"].options
    assert ("upgrade", "4.16.4", ()) in cluster_summaries


def test_of_two_workers_one_acts_and_the_other_goes_on_after_it() -> None:
    """Soak goes on where the first left it."""
    scene = Scene(example())
    scene.live(3, scene.worker("a"), scene.worker("b"))
    before = scene.known(PAYMENTS).ledger.days["4.16.4", "payments"]
    assert Counter(each.path for each in made(scene)).most_common(1)[0][1] == 1
    scene.live(3, scene.worker("c"))
    after = scene.known(PAYMENTS).ledger.days["4.16.4", "payments"]
    assert after == pytest.approx(before + DAY / 8, rel=0.1)


def test_what_was_not_seen_does_not_soak() -> None:
    """A day without a worker is a day without soak."""
    scene = Scene(example())
    scene.live(6)
    before = scene.known(PAYMENTS).ledger.days["4.16.4", "payments"]
    scene.at = type(scene.at)(scene.at + 24 * 3600 * 10**9)
    scene.live(1)
    after = scene.known(PAYMENTS).ledger.days["4.16.4", "payments"]
    assert after - before < DAY / 20


def hold(scene: Scene, **document: Any) -> None:
    """Set a hold, as a person at a terminal does."""
    fact = Braked(brake="hold", name="h", document={"name": "h", **document}, reason="x")
    scene.store.append("brakes", [JournalNote(scene.now(), "user:ada", fact)])


def test_a_hold_keeps_everything_from_being_asked_for() -> None:
    """Of all kinds, and of one organisation."""
    scene = Scene(example())
    hold(
        scene, scope={"selector": {"matchLabels": {"org": "o-payments"}}}, owner="ada", reason="no"
    )
    scene.live(3)
    assert {each.path.split("/")[5] for each in made(scene)} == {"maps-1-id"}


def test_no_cluster_gets_two_policies_however_often_answers_are_lost() -> None:
    """Faults in a tenth of all calls, over three days."""
    luck = FaultDraw(
        OcmFaults(permille={OcmFault.LOST: 40, OcmFault.ERROR: 30, OcmFault.CUT: 30}), seed=3
    )
    scene = Scene(example(), luck=luck)
    scene.live(3 * 24)
    assert luck.met["lost"] > 50
    asked = Counter((each.path, each.body["version"]) for each in made(scene))
    assert asked
    assert set(asked.values()) == {1}
    assert scene.versions()["pay-stage-2"] == "4.16.4"


def test_a_restart_in_the_middle_of_everything_loses_nothing() -> None:
    """Workers that live for an hour each end the same as one that lives on."""
    scene = Scene(example(), store=MemoryStore())
    for _ in range(48):
        scene.live(1)
    whole = Scene(example())
    whole.live(48)
    assert scene.versions() == whole.versions()
    ours, theirs = (each.known(PAYMENTS).ledger.days for each in (scene, whole))
    assert ours["4.16.4", "payments"] == pytest.approx(theirs["4.16.4", "payments"], rel=0.05)


def test_an_environment_that_does_not_answer_moves_nothing_and_is_reported() -> None:
    """And goes on by itself once it does."""
    luck = FaultDraw(OcmFaults(permille={OcmFault.ERROR: 1000}))
    scene = Scene(example(), luck=luck)
    scene.live(2)
    assert scene.writes == []
    errors = [str(each) for _, each in scene.told if isinstance(each, Exception)]
    assert any("prod cannot be read" in each for each in errors)
    luck.troubles = OcmFaults()
    scene.live(2)
    assert made(scene)
    assert any(isinstance(each, RoundResult) and each.outcomes for _, each in scene.told)


def test_an_organisation_that_never_could_be_read_is_in_status_while_it_is_led() -> None:
    """A real worker leaves why beside its lease; once it can read it, that is over."""
    luck = FaultDraw(OcmFaults(permille={OcmFault.ERROR: 1000}))
    scene = Scene(example(), luck=luck)

    async def seen() -> StatusReport:
        worker = scene.worker()
        task = asyncio.create_task(worker.run())
        await asyncio.sleep(1800)
        found = status(Journals(scene.store, rules_of, scene.now()))
        worker.stop()
        await task
        return found

    report = scene.play(seen)
    assert report.needs["rollouts that cannot be read"] == 2
    assert report.kinds == {"upgrades": {"rollouts": 2}}
    assert {each.partition for each in report.workers} == {PAYMENTS, MAPS}
    assert all("prod cannot be read" in each.trouble for each in report.workers)
    luck.troubles = OcmFaults()
    report = scene.play(seen)
    assert "rollouts that cannot be read" not in report.needs
    assert report.kinds["upgrades"]["rollouts"] == 2


def alone(**fields: Any) -> dict[str, Any]:
    """One cluster that may go to one version; `fields` are of the world."""
    labels = {"soak-days": "0", "workloads": "w", "schedule": "* * * * *"}
    return {
        "now": "2026-03-02T08:00:00Z",
        "orgs": [{"id": "o", "name": "O"}],
        "clusters": [{"name": "c", "org": "o", "version": "4.16.3", "labels": labels}],
        "versions": [{"version": "4.16.3"}, {"version": "4.17.1"}],
        **fields,
    }


def test_what_is_refused_is_asked_for_again_later_and_later() -> None:
    """A gate that is not known: OCM says no, and is asked again a few times."""
    gates = [{"id": "g", "prefix": "4.17", "label": "api.openshift.com/gate-new"}]
    scene = Scene(alone(gates=gates))
    scene.play(lambda: scene.manager().switch_channel("c-id", "stable-4.17"))
    scene.live(24)
    asked = [each for each in scene.writes if "upgrade_policies" in each.path]
    assert {each.status for each in asked} == {400}
    assert 5 <= len(asked) <= 9
    (refused,) = scene.known("upgrades/prod/o").refused["c-uuid"].values()
    assert refused.tries == len(asked)


def test_an_agreement_that_is_given_at_once_is_asked_of_no_one() -> None:
    """Owners are notified of those only that are theirs to give."""
    gates = [
        {"id": "g1", "prefix": "4.17", "label": "api.openshift.com/gate-ocp"},
        {"id": "g2", "prefix": "4.17", "label": "api.openshift.com/gate-ingress"},
    ]
    scene = Scene(alone(gates=gates[:1]))
    scene.play(lambda: scene.manager().switch_channel("c-id", "stable-4.17"))
    scene.live(2)
    assert [each for each in scene.writes if "cluster_logs" in each.path] == []
    assert scene.versions() == {"c": "4.17.1"}
    scene = Scene(alone(gates=gates))
    scene.play(lambda: scene.manager().switch_channel("c-id", "stable-4.17"))
    scene.live(2)
    (log,) = [each for each in scene.writes if "cluster_logs" in each.path]
    assert "gate-ingress" in log.body["description"]


def test_nothing_at_all_is_done_to_a_cluster_in_a_hold() -> None:
    """Not even an agreement is given; a freeze does not keep from that."""
    gates = [{"id": "g1", "prefix": "4.17", "label": "api.openshift.com/gate-ocp"}]
    scene = Scene(alone(gates=gates))
    scene.play(lambda: scene.manager().switch_channel("c-id", "stable-4.17"))
    before = len(scene.writes)
    hold(scene, scope={"everything": True}, owner="ada", reason="no")
    scene.live(3)
    assert len(scene.writes) == before


def test_whom_one_inherits_from_is_not_guessed_while_their_environment_is_silent() -> None:
    """Nothing starts, no one is notified of a mistake that is none; others are not delayed."""
    document = example()
    document["orgs"][0]["labels"]["version-data.inherit"] = "o-elsewhere"
    scene = Scene(document)

    async def read(unsure: dict[str, str]) -> list[str]:
        async def others() -> PublishingOrganisations:
            return PublishingOrganisations({}, unsure)

        found = await read_organisations(
            scene.manager(), scene.registrations, scene.now(), others()
        )
        return [each.orgs[0].partial for each in found.worlds]

    assert scene.play(lambda: read({"stage": "stage does not answer"})) == [
        "it inherits from o-elsewhere, and stage does not answer",
        "",
    ]
    assert scene.play(lambda: read({})) == ["", ""], "nobody publishes: that is a mistake"


def test_status_counts_clusters_and_what_their_owners_must_fix(tmp_path: Path) -> None:
    """Beside rollouts, in the same words."""
    name = str(tmp_path / "t.db")
    scene = Scene(example(), store=open_store(name))
    scene.live(0.2)
    scene.store.close()
    said = CliRunner().invoke(cli, ["status", "--database", name, "-o", "json"])
    found = json.loads(said.stdout)
    counts = found["kinds"]["upgrades"]
    assert (counts["rollouts"], counts["moving"]) == (2, 3), "of 6 clusters"
    assert found["needs"]["mistakes in labels"] == 1
    said = CliRunner().invoke(cli, ["status", "--database", name])
    assert "Action required: 1 mistake in labels" in said.stdout


def test_an_expedite_says_who_starts_at_once_and_what_the_others_wait_for(tmp_path: Path) -> None:
    """Before it is written down; then exactly those start."""
    name = str(tmp_path / "t.db")
    document = example()
    names = ("maps-1", "pay-stage-1", "pay-stage-2")
    document["clusters"] = [each for each in document["clusters"] if each["name"] in names]
    for each in document["clusters"]:
        each["labels"]["soak-days"] = "3"
    scene = Scene(document, store=open_store(name))
    scene.live(0.05)
    words = ["expedite", "add", "4.16.*", "--everything", "--reason", "CVE", "--yes"]
    ends = ["--until", "2099-01-01T00:00:00Z", "--database", name]
    said = CliRunner().invoke(cli, [*words, *ends])
    assert said.stderr.splitlines() == [
        "upgrades/prod/o-maps: starts at once on maps-1 (4.16.4)",
        "upgrades/prod/o-payments: starts at once on pay-stage-1 (4.16.4)",
        (
            "upgrades/prod/o-payments: pay-stage-2 still waits: mutex pay-stage: "
            "pay-stage-1 is being upgraded"
        ),
        (
            "4.16.* skips soak and windows on 3 clusters, 2 at once; "
            "mutexes, sectors, holds, freezes, blocks and agreements stand"
        ),
    ]
    scene.live(0.5)
    policies = [each.path for each in scene.writes if each.path.endswith("upgrade_policies")]
    assert [re.findall(r"clusters/([a-z0-9-]+)-id/", each) for each in sorted(policies)] == [
        ["maps-1"],
        ["pay-stage-1"],
    ]
    said = CliRunner().invoke(cli, ["expedite", "add", "4.99.9", *words[3:], *ends])
    assert "4.99.9 skips soak and windows nowhere yet: no cluster known here" in said.stderr
    scene.store.close()


def test_a_block_takes_back_what_has_not_started_and_says_so_before(tmp_path: Path) -> None:
    """The next round has it deleted; nothing new goes to the version."""
    name = str(tmp_path / "t.db")
    scene = Scene(example(), store=open_store(name))
    scene.live(0.05)
    words = ["block", "add", "4.16.4", "--reason", "bad", "--yes", "--database", name]
    said = CliRunner().invoke(cli, words)
    assert "upgrades/prod/o-maps: takes back 1 upgrade not started: maps-1" in said.stderr
    scene.live(2)
    deleted = [each.path for each in scene.writes if each.method == "DELETE"]
    assert any("maps-1-id" in each for each in deleted)
    assert scene.versions()["maps-1"] == "4.16.3"
    scene.store.close()


class Unknown(SimulatedClusters):
    """It does not know our account, as far as upgrades go."""

    async def _ask(self, method: str, path: str, *rest: Any, **more: Any) -> tuple[int, Any]:
        if method == "POST" and "upgrade_policies" in path:
            raise OcmRefusedError("no token", UNAUTHORIZED)
        return await super()._ask(method, path, *rest, **more)


def test_credentials_that_are_refused_refuse_no_upgrade_in_particular() -> None:
    """No cluster is put off for it: a caller with good ones asks at once."""
    scene = Scene(example())
    scene.live(0.05, scene.worker(manager=Unknown(scene.state, scene)))
    assert not scene.known("upgrades/prod/o-maps").refused
    scene.live(0.05, scene.worker("other"))
    made = [each.path for each in scene.writes if each.path.endswith("upgrade_policies")]
    assert any("maps-1-id" in each for each in made)
