"""The facts of upgrades: what was read of an organisation, planned, and brought along from before.

Only what differs from before is written down, so that a look at which nothing is new is one short
line: that everybody was seen as before, which is what soak counts.
"""

import msgspec

from tidegate.journal.fact import Fact, Mode, because, register, some_names
from tidegate.journal.verdict_marks import plan_news
from tidegate.kinds.upgrades.core.history import Minima
from tidegate.kinds.upgrades.core.labels.label_edit import ORGANISATION, HolderChange
from tidegate.kinds.upgrades.core.labels.label_requests import change_words
from tidegate.kinds.upgrades.core.rules.soak import SoakSnapshot
from tidegate.kinds.upgrades.core.service import RuleSet
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.kinds.upgrades.core.world import Edition, ManagedCluster, MinorGate, Organisation
from tidegate.model.counted import counted
from tidegate.model.time import Instant


class SoakSample(msgspec.Struct, frozen=True, omit_defaults=True):
    """What of a cluster counts for soak, whenever it was seen so."""

    uuid: str
    name: str
    version: str
    workloads: tuple[str, ...] = ()
    healthy: bool = True
    # No other cluster of the organisation has its name.
    unique: bool = True
    # The version of each of its add-ons, and whether that is well.
    addons: dict[str, tuple[str, bool]] = {}


class Surveyed(Fact, frozen=True, tag="surveyed", kw_only=True, omit_defaults=True):
    """An organisation was looked at; each field says what is not as it was before."""

    # None: as before.
    org: Organisation | None = None
    rules: RuleSet | None = None
    # Organisations it inherits from, with their labels; None: as before.
    others: tuple[Organisation, ...] | None = None
    gates: tuple[MinorGate, ...] | None = None
    minima: Minima | None = None
    # The same of add-ons, by their ids.
    addon_minima: dict[str, Minima] | None = None
    # New, or not as before.
    clusters: tuple[ManagedCluster, ...] = ()
    gone: tuple[str, ...] = ()
    seen: tuple[SoakSample, ...] = ()
    # Clusters that no longer count for soak: gone, or excluded.
    unseen: tuple[str, ...] = ()
    # Clusters that could not be read this time, and why; whatever was said before is over.
    unread: dict[str, str] = msgspec.field(default_factory=dict)
    # Whether the health of clusters could not be read.
    health_fails: bool = False
    # When versions end, where that is known; None: as before.
    ends: dict[str, Instant] | None = None
    # Clusters without labels, of which nothing is decided: new, or not as before.
    unlabelled: tuple[ManagedCluster, ...] = ()
    # Clusters that had no labels, and are gone.
    unlabelled_gone: tuple[str, ...] = ()

    def is_news(self) -> bool:
        """Whether a look found something."""
        return bool(self._found())

    def line(self) -> str:
        """What is new, gone and unread."""
        return "; ".join(self._found()) or "no change"

    def _found(self) -> list[str]:
        parts = [some_names(f"{each.name} {each.version}" for each in self.clusters)]
        parts += [f"gone: {some_names(self.gone)}" if self.gone else ""]
        parts += [f"not read: {some_names(self.unread)}" if self.unread else ""]
        parts += ["the health of clusters is not known" if self.health_fails else ""]
        for some, what in ((self.unlabelled, "new or changed"), (self.unlabelled_gone, "gone")):
            parts += [f"{counted(len(some), 'cluster')} without labels {what}" if some else ""]
        return [each for each in parts if each]

    def names(self, target: str) -> bool:
        """Whether a cluster is new, changed or gone, by its name or its external id."""
        named = {each.name for each in self.clusters} | {each.uuid for each in self.clusters}
        return target in named or target in self.gone


class Job(msgspec.Struct, frozen=True, omit_defaults=True, rename={"change": "step"}):
    """Something that is asked of OpenShift Cluster Manager, under the key of its decision."""

    key: str
    # By external id, and as people call it.
    target: str
    name: str
    change: UpgradeStep


class Standpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a cluster stands: for each option what is done, to what, and which gates are shut."""

    target: str
    options: tuple[tuple[str, str, tuple[str, ...]], ...]


class HistoryNews(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is not as it was in a history of AUS's form."""

    check_in: str | None = None
    # Version, workload, days, and names that came.
    soak: tuple[tuple[str, str, float, tuple[str, ...]], ...] = ()
    stats: Minima | None = None


class Planned(
    Fact,
    frozen=True,
    tag="planned",
    kw_only=True,
    omit_defaults=True,
    rename={"tasks": "jobs"},
):
    """A plan of upgrades, recorded before anything is done about it."""

    now: Instant
    mode: Mode
    tasks: tuple[Job, ...] = ()
    changed: tuple[Standpoint, ...] = ()
    recheck_at: Instant | None = None
    # Of all that every gate says, so that a replay can tell whether it decides the same.
    digest: str = ""
    # What AUS keeps, where its rules decide.
    kept: HistoryNews | None = None
    # Organisations it inherits from that were not observed yet: it waits for them.
    unseen: tuple[str, ...] = ()
    # The rules it was decided with; the first ones did not say.
    edition: Edition = Edition.SHARED_MUTEXES

    def line(self) -> str:
        """What is asked for, whose verdicts changed, and when to look again."""
        verb = "" if self.mode is Mode.ACT else "would "
        steps = ((one.name, one.change) for one in self.tasks)
        asked = (f"{step.doing.value} {name} {step.revision or ''}" for name, step in steps)
        named = some_names(each.rstrip() for each in asked)
        # By number: targets are recorded by their external ids.
        clusters = sum("/" not in each.target for each in self.changed)
        whose = counted(clusters, "cluster") if clusters else "labels" if self.changed else ""
        parts = [f"{verb}{named}"] if named else ["nothing to do"]
        parts += plan_news(whose, self.recheck_at)
        return "; ".join(parts)

    def names(self, target: str) -> bool:
        """Whether something is asked for a cluster, or its verdicts changed."""
        return target in {one.name for one in self.tasks} | {each.target for each in self.changed}


class SoakDoc(msgspec.Struct, frozen=True, omit_defaults=True):
    """A ledger of soak as it is written down."""

    # Version, workload, microseconds of clusters.
    days: tuple[tuple[str, str, int], ...] = ()
    sights: dict[str, SoakSnapshot] = {}
    # Version, workload, names of clusters.
    reporting: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    minima: Minima | None = None
    checked_at: Instant | None = None


class Imported(Fact, frozen=True, tag="imported", kw_only=True, omit_defaults=True):
    """The soak that another service, or another journal, had kept; it takes the place of ours."""

    soak: SoakDoc
    # Whose versions soaked; empty: those of clusters.
    addon: str = ""
    # Where it came from.
    origin: str = ""
    reason: str = ""

    def line(self) -> str:
        """How many versions, and where they are from."""
        versions = len({version for version, _, _ in self.soak.days})
        return f"soak of {counted(versions, 'version')} from {self.origin}{because(self.reason)}"


class LabelsRequested(Fact, frozen=True, tag="labelsRequested", kw_only=True, omit_defaults=True):
    """A person requested other labels; a worker writes them with the rights of the service."""

    ident: str
    # Each label with the value it had: one that has another by then is not written.
    changes: tuple[HolderChange, ...]
    reason: str = ""

    def line(self) -> str:
        """What of which holder, and why."""
        texts: dict[str, list[str]] = {}
        for each in self.changes:
            name = "the organisation" if each.holder.kind == ORGANISATION else each.holder.called
            texts.setdefault(change_words(each.edits), []).append(name)
        what = "; ".join(f"{some_names(names)}: {text}" for text, names in texts.items())
        return f"request {self.ident} of labels: {what}{because(self.reason)}"

    def names(self, target: str) -> bool:
        """Whether labels of a cluster are among them."""
        return target in {each.holder.called for each in self.changes}


register(Surveyed, Planned, Imported, LabelsRequested)
