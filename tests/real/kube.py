"""Real Kubernetes control planes on this machine: etcd, kube-apiserver, kube-controller-manager.

Several clusters are several API servers on one etcd, each under a prefix of its own. Whatever is
started here is stopped by its process, and listens on loopback only.
"""

import base64
import json
import os
import secrets
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.patience import PATIENCE_S
from tests.real import absent
from tests.real.certificates import Authority
from tests.real.prometheus import free_port
from tidegate.kubernetes.client.access import ClusterAccess

ROOT = Path(__file__).parents[2]
# Two busy cores; 3 to 7 s on idle ones.
START_TIMEOUT_S = 120.0
ADMIN, CONTROLLERS = "admin", "controllers"
# Known to the server and allowed nothing.
NOBODY = "nobody"


def found() -> Path | None:
    """The folder of the servers, if they are on this machine."""
    look = ["bash", str(ROOT / "dev/kube/build"), "look"]
    looked = subprocess.run(look, capture_output=True, text=True, check=False)
    return Path(looked.stdout.strip()) if looked.returncode == 0 else None


def needed_assets() -> Path:
    """The same; where they are missing, the test fails or is skipped, and says why."""
    programs = found()
    how = "`make e2e` builds one (dev/kube/build), or set KUBEBUILDER_ASSETS"
    if programs is None:
        absent("Kubernetes", how)
    return programs


class Guard:
    """Ends what was started if the tests are killed before they could."""

    _SCRIPT = """
    while read -r pid; do
        [[ $pid == done ]] && exit
        pids+=("$pid")
    done
    kill -9 "${pids[@]}"
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            # A signal for the whole group, as from a terminal, must not end it first.
            ["bash", "-c", self._SCRIPT],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def watch(self, pid: int) -> None:
        """End this one too."""
        self._tell(str(pid))

    def dismiss(self) -> None:
        """Everything was stopped."""
        self._tell("done")
        self._process.wait(START_TIMEOUT_S)
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()


class Process:
    """A server that can be killed and started again."""

    def __init__(
        self,
        name: str,
        command: list[str],
        folder: Path,
        guard: "Guard",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`settings` are put into its environment."""
        self._guard = guard
        self._environment = {**os.environ, **(settings or {})}
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = command
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; its log goes on."""
        with self.log.open("ab") as out:
            self._running = subprocess.Popen(
                self._command, stdout=out, stderr=out, env=self._environment
            )
        self._guard.watch(self._running.pid)

    @property
    def pid(self) -> int:
        """The process that runs now."""
        assert self._running is not None
        return self._running.pid

    def kill(self) -> None:
        """Without a word to it."""
        assert self._running is not None
        self._running.send_signal(signal.SIGKILL)
        self._running.wait(START_TIMEOUT_S)
        self._running = None

    def freeze(self) -> None:
        """It stands still, with all that it holds open, until it is thawed."""
        assert self._running is not None
        self._running.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on where it was."""
        assert self._running is not None
        self._running.send_signal(signal.SIGCONT)

    def revive(self) -> None:
        """Start it again if it ended by itself, as a kubelet would."""
        if self._running is not None and self._running.poll() is not None:
            self.start()

    def stop(self) -> None:
        """As politely as it takes in time."""
        if self._running is None:
            return
        self._running.terminate()
        try:
            self._running.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
        self._running = None

    def wait(self, ready: Callable[[], bool]) -> None:
        """Until it is ready; what it said if it never is."""
        assert self._running is not None
        until = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < until and self._running.poll() is None:
            if ready():
                return
            time.sleep(0.05)
        raise AssertionError(f"{self.name} did not start: {self.log.read_text()[-3000:]}")


class ControlPlane:
    """One cluster without nodes: an API server, and its controllers if they were asked for."""

    def __init__(
        self, name: str, folder: Path, tokens: dict[str, str], authority: Authority
    ) -> None:
        self.name = name
        self.folder = folder
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.tokens = tokens
        self.authority = authority
        self.api: Process | None = None
        self.controllers: Process | None = None

    def access(self, user: str = ADMIN) -> ClusterAccess:
        """Access by a token."""
        ca = self.authority.certificate.read_text()
        return ClusterAccess(
            name=self.name, server=self.url, ca=ca, token=self.tokens.get(user, user)
        )

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """A kubeconfig of this cluster, with a token inside."""
        ca = base64.b64encode(self.authority.certificate.read_bytes()).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": self.name,
                    "cluster": {"server": self.url, "certificate-authority-data": ca},
                }
            ],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": user}}],
            "current-context": self.name,
        }
        path = self.folder / f"{user}.kubeconfig"
        path.write_text(json.dumps(document))
        return path

    def wait(self) -> None:
        """Until the API server answers and has made its roles."""
        assert self.api is not None
        self.api.wait(lambda: self._get("/readyz") == b"ok")

    def restart(self) -> None:
        """Start the API server again, and wait for it."""
        assert self.api is not None
        self.api.start()
        self.wait()

    def ask(self, method: str, path: str, body: object = None) -> dict[str, object]:
        """A request of the test's own, past the adapter."""
        headers = {"Authorization": f"Bearer {self.tokens[ADMIN]}"}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        tls = self.authority.trusting()
        with urllib.request.urlopen(request, timeout=PATIENCE_S, context=tls) as answer:
            found: dict[str, object] = json.load(answer)
            return found

    def namespace(self, prefix: str = "t") -> str:
        """A namespace of its own for a test."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def _get(self, path: str) -> bytes:
        headers = {"Authorization": f"Bearer {self.tokens[ADMIN]}"}
        request = urllib.request.Request(self.url + path, headers=headers)
        tls = self.authority.trusting()
        try:
            with urllib.request.urlopen(request, timeout=2, context=tls) as answer:
                body: bytes = answer.read()
                return body
        except (urllib.error.URLError, OSError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()  # it starts, and says so
            return b""


class Etcd:
    """What all control planes of a test keep their objects in."""

    def __init__(self, program: Path, folder: Path, guard: Guard) -> None:
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.url = client
        command = [
            str(program),
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        ]
        self.process = Process("etcd", command, folder, guard)

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2) as answer:
                return b"true" in answer.read()
        except (urllib.error.URLError, OSError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            return False

    def compact(self) -> None:
        """Forget everything that happened up to now."""
        key = base64.b64encode(b"/").decode()
        revision = self._post("/v3/kv/range", {"key": key})["header"]["revision"]
        self._post("/v3/kv/compaction", {"revision": revision, "physical": True})

    def _post(self, path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            found: dict[str, dict[str, str]] = json.load(answer)
            return found


class Kubernetes:
    """Control planes on one etcd, started when a test asks for them."""

    def __init__(self, programs: Path, folder: Path, stack: ExitStack) -> None:
        self._programs = programs
        self._folder = folder
        self._stack = stack
        self._authority = Authority(folder)
        self._guard = Guard()
        stack.callback(self._guard.dismiss)
        self.etcd = Etcd(programs / "etcd", folder, self._guard)
        self._planes: dict[str, ControlPlane] = {}
        self._run(self.etcd.process)
        self.etcd.process.wait(self.etcd.ready)

    def plane(self, name: str, *flags: str) -> ControlPlane:
        """The control plane of this name, as it was started first."""
        return self.planes(name, flags=flags)[0]

    def planes(self, *names: str, flags: tuple[str, ...] = ()) -> list[ControlPlane]:
        """Several of them, started together."""
        fresh = [name for name in names if name not in self._planes]
        for name in fresh:
            self._planes[name] = self._start(name, flags)
        for name in fresh:
            self._planes[name].wait()
        return [self._planes[name] for name in names]

    def program(self, name: str, command: list[str], **settings: str) -> Process:
        """Start another program beside them; `settings` are put into its environment."""
        process = Process(name, command, self._folder, self._guard, settings)
        self._run(process)
        return process

    def controllers(self, plane: ControlPlane) -> None:
        """Start the controllers of a control plane, once."""
        if plane.controllers is not None:
            return
        credentials = plane.kubeconfig(CONTROLLERS)
        command = [
            str(self._programs / "kube-controller-manager"),
            f"--kubeconfig={credentials}",
            f"--service-account-private-key-file={self._authority.service_key}",
            # Under RBAC it looks healthy without this, and reconciles nothing.
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            # Between two tests no one renews the leases of nodes: their pods stay as they are.
            "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--concurrent-deployment-syncs=20",
            "--concurrent-replicaset-syncs=20",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ]
        plane.controllers = Process(f"{plane.name}-controllers", command, self._folder, self._guard)
        self._run(plane.controllers)

    def _start(self, name: str, flags: tuple[str, ...]) -> ControlPlane:
        tokens = {user: secrets.token_hex(16) for user in (ADMIN, CONTROLLERS, NOBODY)}
        folder = self._folder / name
        folder.mkdir()
        plane = ControlPlane(name, folder, tokens, self._authority)
        groups = {
            ADMIN: "system:masters",
            CONTROLLERS: "system:kube-controller-manager",
            NOBODY: "nobodies",
        }
        users = {CONTROLLERS: "system:kube-controller-manager"}
        listed = (f'{tokens[u]},{users.get(u, u)},{u},"{group}"' for u, group in groups.items())
        (folder / "tokens.csv").write_text("\n".join(listed) + "\n")
        serving = self._authority.issue("server", serves=True)
        command = [
            str(self._programs / "kube-apiserver"),
            f"--etcd-servers={self.etcd.url}",
            f"--etcd-prefix=/{name}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={plane.port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={self._authority.certificate}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._authority.service_public}",
            f"--service-account-signing-key-file={self._authority.service_key}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--shutdown-delay-duration=0s",
            *flags,
        ]
        plane.api = Process(f"{name}-apiserver", command, self._folder, self._guard)
        self._run(plane.api)
        return plane

    def _run(self, process: Process) -> None:
        process.start()
        self._stack.callback(process.stop)


@contextmanager
def kubernetes(programs: Path, folder: Path) -> Iterator[Kubernetes]:
    """An etcd, and as many control planes as are asked for, until the end."""
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    with ExitStack() as stack:
        yield Kubernetes(programs, folder, stack)
