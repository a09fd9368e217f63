"""The end of a story: nobody is left who could be upgraded, and the journal tells the same."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tests.sim.story.ending import check_journal
from tests.sim.upgrades import owners
from tests.sim.upgrades.ahead import soaked
from tests.sim.upgrades.ground import DAY, Asked, Ground
from tests.sim.upgrades.owners import items, minor
from tests.sim.upgrades.record import Cluster
from tests.sim.upgrades.rules import shut_out, wrong_with
from tidegate.kinds.upgrades.rules import UpgradeRules
from tidegate.model.time import SECOND, Instant

if TYPE_CHECKING:
    from tests.sim.upgrades.scene import UpgradeScene

# Whoever may start, does within this; a schedule that fires once a week needs a week.
SOON, WEEKLY = 2 * DAY, 9 * DAY
_UNIT = 1000


def _patience(cluster: Cluster) -> int:
    return WEEKLY if cluster.labels.now.get("schedule", "").endswith((" 6", " 1-4")) else SOON


def could_be(scene: "UpgradeScene") -> Iterator[str]:
    """Upgrades that nothing speaks against, for longer than anybody needs to ask for them."""
    now = scene.now()
    for cluster in scene.ground.record.clusters.values():
        if not cluster.labels.now:
            continue
        offered = [(pool, cluster.version.now) for pool in cluster.lags(now)]
        offered += [("", version) for version in cluster.offers.now]
        for pool, version in offered:
            by = Instant(now - _patience(cluster))
            asked = _asked(scene, cluster, version, by, pool)
            if not wrong_with(scene.ground, asked):
                yield asked.text


def _asked(scene: "UpgradeScene", cluster: Cluster, version: str, by: int, pool: str = "") -> Asked:
    since, by = scene.watched_from, Instant(by)
    now, unseen = scene.now(), round(2 * scene.every_s * SECOND)
    return Asked(cluster, pool, version, now, soaked_by=by, soaked_from=since, unseen=unseen)


def soaks(scene: "UpgradeScene") -> bool:
    """Whether somebody waits for soak that is still to come."""
    now = scene.now()
    for cluster in scene.ground.record.clusters.values():
        for version in cluster.offers.now if cluster.labels.now else ():
            today, later = (_asked(scene, cluster, version, at) for at in (now, now + 1000 * DAY))
            if wrong_with(scene.ground, today) and not wrong_with(scene.ground, later):
                return True
    return False


def is_at_rest(scene: "UpgradeScene") -> bool:
    """Whether nothing was asked for in a long time, and nothing will be."""
    now, witness = scene.now(), scene.witness
    clusters = scene.ground.record.clusters.values()
    longest = max(map(_patience, clusters))
    live = any(each.live(now) for each in clusters)
    since = max(witness.asked_at, scene.settled_at)
    return now - since > longest and not live and not soaks(scene)


def check_end(scene: "UpgradeScene") -> None:
    """Everything that must be true when nothing more happens."""
    stuck = list(could_be(scene))
    assert not stuck, f"nobody upgrades {', '.join(stuck)}"
    for cluster in scene.ground.record.clusters.values():
        if cluster.labels.now and cluster.state.now == "ready":
            _check_cluster(scene, cluster)
    for partition in scene.partitions:
        _check_journal(scene, partition)


def _check_cluster(scene: "UpgradeScene", cluster: Cluster) -> None:
    """What it may agree to is agreed to, its channel is the newest, its owner is told."""
    ground, now = scene.ground, scene.now()
    labels, org = ground.labels(cluster, now)
    if (
        owners.mistakes(labels, org)
        or owners.org_mistakes(org)
        or ground.sources(cluster.org, now)[1]
    ):
        told = [at for (uuid, _, _), at in scene.witness.told.items() if uuid == cluster.uuid]
        last = max(told, default=0)
        assert now - last < 1.2 * DAY, f"{cluster.name}: is not told of its mistakes"
    if owners.mistakes(labels, org):
        return
    wanted = items(labels, "version-gate-approvals") or items(org, "version-gate-approvals")
    minors = {minor(each) for each in cluster.offers.now}
    for gate in ground.gates:
        due = minor(f"{gate.prefix}.0") in minors - {minor(cluster.version.now)}
        if due and gate.binds(cluster) and gate.label in (wanted or owners.APPROVED):
            assert gate.id in cluster.agreed.now, f"{cluster.name}: nobody agrees to {gate.label}"
    group, _, number = cluster.channel.now.partition("-")
    major, small = minor(f"{number}.0")
    channel = f"{group}-{major}.{small + 1}"
    if channel in cluster.channels.now and not _waits_for_agreement(scene, cluster):
        shut = shut_out(ground, cluster, channel, now, now)
        assert shut or _is_closed(ground, cluster, now), (
            f"{cluster.name}: nobody puts it on {channel}"
        )


def _is_closed(ground: Ground, cluster: Cluster, now: int) -> bool:
    """Whether nobody of its sector may start, so that its mutexes are had by nobody, too."""
    labels, org = ground.labels(cluster, now)
    return owners.most(org, labels.get("sector", ""), 1) == 0


def _waits_for_agreement(scene: "UpgradeScene", cluster: Cluster) -> bool:
    asked = (Asked(cluster, "", each, scene.now()) for each in cluster.offers.now)
    return any("agreed to" in wrong_with(scene.ground, each) for each in asked)


def _check_journal(scene: "UpgradeScene", partition: str) -> None:
    """The chain holds, nothing acknowledged is lost, and soak is what clusters really ran."""
    _, state = check_journal(scene, partition, UpgradeRules())
    org = partition.rpartition("/")[2]
    slack = scene.ground.slack
    for (version, workload), counted in state.ledger.days.items():
        ran = soaked(scene.ground, org, version, workload, scene.now())
        what = (
            f"{partition}: {workload} on {version}: {counted * _UNIT / DAY:.3f} of {ran / DAY:.3f}"
        )
        assert counted * _UNIT <= ran + slack, f"{what}: more than anybody ran"
        least = ran - len(scene.ground.record.clusters) * DAY if scene.calm else 0
        assert counted * _UNIT >= least, f"{what}: soak was lost"
