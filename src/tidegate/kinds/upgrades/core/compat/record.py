"""What one run writes, keeps, counts and says."""

from tidegate.kinds.upgrades.core.history import SoakHistory
from tidegate.kinds.upgrades.core.requests import CLUSTERS, OcmRequest, Write, request_of
from tidegate.kinds.upgrades.core.step import UpgradeStep
from tidegate.kinds.upgrades.core.versions import VersionError
from tidegate.kinds.upgrades.core.world import ManagedCluster, UpgradeWorld

SERVICE = "advanced-upgrade-scheduler"
APPROVER = "version-gate-approver"
Sample = tuple[dict[str, str], float]


class AbortError(Exception):
    """The predecessor gives up what it is at: the kind of its error, and its message."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


def error_text(error: Exception) -> str:
    """An error as the predecessor logs it: its kind, and its message."""
    kind = "ValueError" if isinstance(error, VersionError) else type(error).__name__
    return f"{error.kind if isinstance(error, AbortError) else kind}: {error}"


class LegacyRecord:
    """A run as it goes on."""

    def __init__(self, world: UpgradeWorld) -> None:
        self.world = world
        self.writes: list[Write] = []
        # The same, as steps of clusters and as service logs.
        self.steps: list[tuple[ManagedCluster, UpgradeStep]] = []
        self.logs: list[OcmRequest] = []
        self.log: list[str] = []
        self.metrics: dict[str, list[Sample]] = {}
        self.kept: dict[str, SoakHistory] = dict(world.kept)
        self.saved: list[str] = []
        # External ids of the clusters it refuses, for their labels as a rule.
        self.refused: set[str] = set()

    def debug(self, line: str) -> None:
        """Say something only developers read."""
        self.log.append(f"DEBUG: {line}")

    def info(self, line: str) -> None:
        """Say what is done."""
        self.log.append(f"INFO: {line}")

    def warning(self, line: str) -> None:
        """Say what should be fixed."""
        self.log.append(f"WARNING: {line}")

    def error(self, line: str) -> None:
        """Say what went wrong."""
        self.log.append(f"ERROR: {line}")

    def count(self, name: str, env: str, value: float, **labels: str) -> None:
        """Set a number."""
        every = {"integration": SERVICE, "ocm_env": env, **labels}
        self.metrics.setdefault(name, []).append((every, value))

    def save(self, key: str, history: SoakHistory) -> None:
        """Keep a history, unless nothing is to be changed."""
        if not self.world.dry_run:
            self.kept[key] = history
            self.saved.append(key)

    def read(self, path: str) -> None:
        """Ask OCM for something; AbortError where that fails."""
        if (status := self.world.fail.get(f"GET {path}")) is not None:
            raise AbortError("HTTPError", http_error(status, path))

    def ask(self, cluster: ManagedCluster, step: UpgradeStep) -> None:
        """Ask OCM for one step of a cluster; AbortError where that fails."""
        self.steps.append((cluster, step))
        self._send(request_of(cluster, step))

    def post(self, request: OcmRequest) -> None:
        """Write a service log; AbortError where that fails."""
        self.logs.append(request)
        self._send(request)

    def _send(self, request: OcmRequest) -> None:
        method, path, body = request.write()
        self.writes.append((method, path, body))
        if (status := self.world.fail.get(f"{method} {path}")) is not None:
            raise AbortError("HTTPError", http_error(status, path))


def http_error(status: int, path: str) -> str:
    """A failed call in the predecessor's words."""
    side = "Server" if status >= 500 else "Client"
    return f"{status} {side} Error: None for url: {path}"


def cluster_path(ident: str, *rest: str) -> str:
    """The address of a cluster in OCM, or of something below it."""
    return "/" + "/".join((*CLUSTERS, ident, *rest))
