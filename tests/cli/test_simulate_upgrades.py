"""`tidegate simulate upgrades`: a story, true of the OpenShift Cluster Manager it is about."""

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from tidegate.cli.main import cli
from tidegate.kinds.upgrades.app.read.view import views_of
from tidegate.kinds.upgrades.app.rehearsal import event_part, simulate_upgrades
from tidegate.kinds.upgrades.ocm.simulated.state import (
    ALL_CLUSTERS,
    CLUSTER_LOGS,
    VERSIONS,
    OcmState,
)
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.kinds.upgrades.simulated.events import UpgradeEvent
from tidegate.kinds.upgrades.simulated.rehearsal import Rehearsal
from tidegate.kinds.upgrades.simulated.story import UpgradeStory
from tidegate.model.time import Instant, format_second, parse_instant

# A fortnight is lived once, in one process.
pytestmark = pytest.mark.xdist_group("simulated upgrades")

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL, FORTNIGHT = EXAMPLES / "ocm.yaml", EXAMPLES / "fortnight.yaml"
WEEKENDS = (("2026-03-06T18", "2026-03-09T06"), ("2026-03-13T18", "2026-03-16T06"))


def told(*args: str) -> Result:
    """What the command prints."""
    return CliRunner().invoke(cli, ["simulate", "upgrades", *args])


def events(*args: str) -> list[dict[str, Any]]:
    """Everything that happens, and where every target stands in the end."""
    done = told(*args, "-o", "json")
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


class Lived:
    """A fortnight of a world, simulated once for all who look at it."""

    def __init__(self, file: Path) -> None:
        self.world = read_world(yaml.safe_load(file.read_text()))
        rehearsal = Rehearsal(self.world)
        (self.state,) = rehearsal.states.values()
        self.before = versions_of(self.state)
        self.batches: list[tuple[Instant, list[UpgradeEvent]]] = []

        def hear(events: Sequence[UpgradeEvent], now: Instant | None) -> None:
            self.batches.append((rehearsal.now() if now is None else now, list(events)))

        self.fleet = simulate_upgrades(rehearsal, 14, hear).fleet

    @property
    def events(self) -> list[dict[str, Any]]:
        """All that happened, as JSON has it."""
        some = [event_part(each) for _, some in self.batches for each in some]
        found: list[dict[str, Any]] = json.loads(msgspec.json.encode(some))
        return found

    def told(self, width: int) -> list[str]:
        """The lines of its story."""
        story = UpgradeStory({each.id: each.name for each in self.world.orgs}, width)
        lines = [line for now, some in self.batches for _, line in story.add(some, now)]
        return [*lines, *(line for _, line in story.add(()))]


@cache
def lived(file: Path) -> Lived:
    """What became of a world."""
    return Lived(file)


@pytest.fixture
def fortnight() -> list[dict[str, Any]]:
    """What happens to the thirty clusters of the demo."""
    return lived(FORTNIGHT).events


def those(some: list[dict[str, Any]], event: str, **facts: Any) -> list[dict[str, Any]]:
    """The events of a kind."""
    found = (each for each in some if each["event"] == event)
    return [each for each in found if facts.items() <= each.items()]


def versions_of(state: OcmState) -> dict[tuple[str, str], str]:
    """Which version each cluster and each node pool is on."""
    found = {}
    for key, cluster in state.collections[ALL_CLUSTERS].items():
        found[cluster["name"], ""] = cluster["version"]["raw_id"]
        for pool in state.collections[f"{ALL_CLUSTERS}/{key}/node_pools"].values():
            found[cluster["name"], pool["id"]] = pool["version"]["raw_id"]
    return found


@pytest.mark.parametrize("file", [SMALL, FORTNIGHT], ids=lambda file: file.stem)
def test_every_event_is_true_of_the_openshift_cluster_manager(file: Path) -> None:
    """Every write is one event and every event one write; what is done leads to what is there."""
    some, state, world = lived(file).events, lived(file).state, lived(file).world
    writes = Counter((_second(each.at), _what(each.method, each.path)) for each in state.writes)
    assert all(each.status < 300 for each in state.writes)
    wanted = ("asked", "agreed", "channel", "told")
    assert Counter((e["at"], e["event"]) for e in some if e["event"] in wanted) == writes
    after = dict(lived(file).before)
    for each in those(some, "done"):
        key = (each["clusters"][0], each.get("pool", ""))
        assert after[key] == each["was"], each
        after[key] = each["to"]
    assert after == versions_of(state)
    for each in those(some, "failed"):
        policies = state.collections[f"{ALL_CLUSTERS}/{each['clusters'][0]}-id/upgrade_policies"]
        assert [one["state"]["value"] for one in policies.values()] == ["failed"]
    asked = {_upgrade(each): each["startsAt"] for each in those(some, "asked")}
    for each in those(some, "started"):
        assert each["at"] >= asked[_upgrade(each)]
    assert len(those(some, "told")) == len(state.collections[CLUSTER_LOGS])
    out = {each["to"] for each in those(some, "out")}
    late = {e.version for e in world.versions if e.released_at}
    assert out == late & {each["raw_id"] for each in state.collections[VERSIONS].values()}


def _second(at: str) -> str:
    return format_second(parse_instant(at))


def _what(method: str, path: str) -> str:
    names = {"cluster_logs": "told", "gate_agreements": "agreed", "upgrade_policies": "asked"}
    return "channel" if method == "PATCH" else names[path.rpartition("/")[2]]


def _upgrade(one: dict[str, Any]) -> tuple[str, str, str]:
    return one["clusters"][0], one.get("pool", ""), one["to"]


def test_the_story_is_the_same_each_time_and_follows_its_seed() -> None:
    """Whatever goes wrong, and whatever order dictionaries and sets are in."""
    some = (str(SMALL), "--days", "2", "--fault", "500=40", "--fault", "lost=40")
    first = told(*some).output
    assert first == told(*some).output
    assert first != told(*some, "--seed", "7").output
    assert "cannot be read" in first


def test_the_lines_of_a_story_fit_a_terminal() -> None:
    """However wide it is, it tells the same."""
    narrow, wide = (lived(FORTNIGHT).told(width) for width in (80, 100))
    assert 60 < max(map(len, narrow)) <= 80 < max(map(len, wide)) <= 100
    assert len(wide) < len(narrow)
    assert " ".join(" ".join(narrow).split()) == " ".join(" ".join(wide).split())


def test_thirty_clusters_go_through_all_that_can_happen(fortnight: list[dict[str, Any]]) -> None:
    """What the story is there to show is in it."""
    found = (stand for view in views_of(lived(FORTNIGHT).fleet) for stand in view.cluster_summaries)
    cluster_summaries = {each.member.cluster.name: each for each in found}
    assert len(cluster_summaries) == 30
    aside = those(fortnight, "setAside")
    assert [each["clusters"] for each in aside] == [["maps-8"]]
    message = those(fortnight, "told", clusters=["maps-8"])[0]["text"]
    assert "is not a whole number; write a whole number of days" in message
    reasons = {each["reason"] for each in those(fortnight, "held")}
    assert reasons >= {"VersionBlocked", "VersionQuarantined", "Frozen", "AgreementUnasked"}
    assert {each["to"] for each in those(fortnight, "out")} == {"4.16.5", "4.16.6", "4.17.1"}
    assert [each["clusters"] for each in those(fortnight, "failed")] == [["search-stage-2"]]
    assert not those(fortnight, "asked", org="o-shop", to="4.16.5"), "it is blocked"
    failed = those(fortnight, "failed")[0]["at"]
    later = [e for e in those(fortnight, "asked", org="o-search", to="4.16.5") if e["at"] > failed]
    assert not later, "it is quarantined"
    assert "gate-sts for 4.17: not agreed to" in cluster_summaries["maps-sts"].why()
    assert cluster_summaries["shop-stage-3"].oldest == "4.16.6"


def test_nothing_starts_in_the_freeze_and_nothing_goes_before_those_they_wait_for(
    fortnight: list[dict[str, Any]],
) -> None:
    """Over both weekends; canary, stage, prod; one of a mutex at a time; plane, then pools."""
    for begin, end in WEEKENDS:
        assert not [e for e in those(fortnight, "started") if begin <= e["at"] < end]
    done = those(fortnight, "done", to="4.16.4", org="o-shop")
    sectors = [each["sector"] for each in done]
    assert sectors == sorted(sectors, key=["canary", "stage", "prod"].index)
    hosted = [each.get("pool", "plane") for each in done if each["clusters"] == ["shop-us-3"]]
    assert hosted == ["plane", "gpu", "workers"]
    for mutex in ("shop-eu", "shop-us"):
        under_way: set[str] = set()
        for each in fortnight:
            name = (each.get("clusters") or [""])[0]
            if not name.startswith(mutex):
                continue
            if each["event"] == "started":
                assert under_way <= {name}, each
                under_way.add(name)
            elif each["event"] == "done":
                under_way.discard(name)


def test_only_who_is_listed_is_served(tmp_path: Path) -> None:
    """By a file as the service has one; what is not in this world is reported."""
    served = tmp_path / "upgrades.yaml"
    text = (EXAMPLES / "upgrades.yaml").read_text()
    served.write_text(text.replace("{id: o-maps, name: Maps", "{id: o-mops, name: Mops"))
    done = told(str(SMALL), "--days", "2", "--upgrades", str(served), "-o", "json")
    some = [json.loads(line) for line in done.stdout.splitlines()]
    assert {each["org"] for each in some if "org" in each} == {"o-payments"}
    assert "o-mops is served, but not in" in done.stderr


def test_a_hold_of_the_world_keeps_everything_where_it_is(tmp_path: Path) -> None:
    """Until it expires, and both are shown."""
    world = yaml.safe_load(SMALL.read_text())
    hold = {"name": "inc-42", "scope": {"everything": True}, "owner": "sre", "reason": "incident"}
    world["brakes"] = {"holds": [{**hold, "expires": "2026-03-03T08:00:00Z"}]}
    (tmp_path / "world.json").write_text(json.dumps(world))
    some = events(str(tmp_path / "world.json"), "--days", "2")
    held = those(some, "held", gate="hold")
    assert {tuple(each["clusters"]) for each in held} >= {("maps-1",)}
    assert {each["text"] for each in those(some, "freed")} == {"hold inc-42 is over"}
    assert min(each["at"] for each in those(some, "asked")) >= "2026-03-03T08:00:00Z"


def test_what_is_saved_is_seen_as_it_was_by_every_other_command(tmp_path: Path) -> None:
    """The same clusters, versions and reasons; and every command that is offered works."""
    saved, days = tmp_path / "world.json", ("--days", "6")
    done = told(str(SMALL), *days, "--save", str(saved))
    assert done.exit_code == 0, done.output
    rows = told(str(SMALL), *days, "-o", "table").stdout.splitlines()
    again = CliRunner().invoke(cli, ["get", "clusters", "--world", str(saved)])
    assert sorted(again.stdout.splitlines()) == sorted(rows)
    assert offered(done) == ["why", "when", "upgrades what-if"], "the label at fault, fixed"


def test_what_is_offered_works_where_nothing_is_wrong_too(tmp_path: Path) -> None:
    """One cluster, up to date from the beginning."""
    world = yaml.safe_load(SMALL.read_text())
    world["clusters"] = [each for each in world["clusters"] if each["name"] == "maps-1"]
    world["versions"] = world["versions"][:1]
    (tmp_path / "world.yaml").write_text(yaml.safe_dump(world))
    args = (str(tmp_path / "world.yaml"), "--days", "1", "--save", str(tmp_path / "saved.json"))
    assert offered(told(*args)) == ["why", "when", "upgrades lint"]


def offered(done: Result) -> list[str]:
    """The commands a person may paste; every one of them does what it says."""
    found = [line.split() for line in done.stderr.splitlines() if line.startswith("  tidegate ")]
    for _, *args in found:
        result = CliRunner().invoke(cli, args)
        assert result.exit_code == 0, (args, result.output)
        assert result.output
    return [" ".join(args[1 : 3 if args[1] == "upgrades" else 2]) for args in found]


@pytest.mark.parametrize(
    "args, says",
    [
        (["--look-every", "3h"], "write 1m to 90m"),
        (["--look-every", "often"], "write 1h"),
        (["--days", "0"], "--days"),
        (["--fault", "lots=5"], "did you mean"),
        (["--upgrades", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_in_words(args: list[str], says: str) -> None:
    """Before anything is simulated."""
    result = told(str(SMALL), *args)
    assert result.exit_code != 0
    assert says in result.output + str(result.exception)


def test_a_world_without_any_organisation_and_one_with_mistakes_are_refused(tmp_path: Path) -> None:
    """With the line of the mistake, those in brakes too."""
    file = tmp_path / "world.yaml"
    file.write_text("orgs: []\nclusters: []\n")
    assert "no organisation is served" in told(str(file)).output
    file.write_text("orgs: [{id: o}]\nbrakes:\n  holds:\n    - name: x\n")
    assert f"{file}:4" in str(told(str(file)).exception.problems)  # type: ignore[union-attr]
