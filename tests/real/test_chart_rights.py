"""The rights that the chart grants are enough and least: every verb is used, none is missing.

The service runs with the accounts of the chart, and the API server's audit log says what it asked.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.command import tidegate
from tests.contract.clusters import REAL
from tests.folders import Folder
from tests.patience import PATIENCE_S
from tests.real import kube
from tests.real.audit import Audit, Right, granted, reviewed, unused
from tests.real.chart import RELEASE, Document, grant, rendered, token_of
from tests.real.hub import PLACEMENTS, Hub, needed_programs, until
from tests.real.kube import ControlPlane, Kubernetes
from tests.real.kubelet import METRICS_PORT, kubelet
from tests.real.test_policies import EVALUATED_S, Author, asked
from tests.real.test_policy_waves import WaveAuthor
from tests.real.test_staged import Stage, done
from tests.staged import RULES, Declared
from tidegate.kinds.policies.core.names import own_placement
from tidegate.kubernetes.client.cluster import KubernetesCluster
from tidegate.kubernetes.client.pods import PodReach
from tidegate.kubernetes.client.reviews import KubernetesReviews
from tidegate.kubernetes.port import POD
from tidegate.model.errors import OutsideError

pytestmark = REAL
NAME = f"{RELEASE}-tidegate"


class Accounts:
    """The accounts of the chart on a server, and what they asked of it."""

    def __init__(self, plane: ControlPlane, audit: Audit, *values: str) -> None:
        self.plane, self.audit = plane, audit
        self.space = plane.namespace("tidegate")
        self.documents: list[Document] = rendered(
            *(word for each in values for word in ("--set", each)), namespace=self.space
        )
        grant(plane, self.documents, self.space)
        self._account = f"system:serviceaccount:{self.space}:{NAME}"
        plane.tokens[self.space] = token_of(plane, self.space, NAME)
        self.config = str(plane.kubeconfig(self.space))
        self._given = granted(self.documents, NAME)
        assert self._given
        for each in reviewed(self.documents, NAME):
            # Rights take a moment to count, and what is asked before is refused.
            until(partial(self._is_allowed, each), f"{each} is allowed", PATIENCE_S)

    def unused(self) -> set[Right]:
        """What it was granted and has not used so far; nothing may have been refused."""
        used, refused = self.audit.asked(self._account)
        assert refused == set(), "missing in the chart"
        return unused(self._given, used)

    def check(self) -> None:
        """All that is granted was used; the audit log is written a moment after an answer."""
        end = time.monotonic() + PATIENCE_S
        while left := self.unused():
            assert time.monotonic() < end, f"granted and never used: {sorted(left)}"
            time.sleep(0.1)

    def _is_allowed(self, attributes: dict[str, str]) -> bool:
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": self._account, "resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        found: Any = self.plane.ask("POST", path, review)
        return bool(found["status"]["allowed"])


@contextmanager
def service(folder: Path, *words: str) -> Iterator[None]:
    """`tidegate serve` with the account of the chart, and what it said if a test fails."""
    log = folder / "serve.log"
    of = ("--listen", "127.0.0.1:0", "--database", str(folder / "serve.db"))
    quick = ("--discover", "500ms", "--resync", "1s")
    clean = {name: value for name, value in os.environ.items() if "TIDEGATE" not in name}
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tidegate", "serve", *of, *quick, *words],
            cwd=folder,
            env={**clean, "XDG_CACHE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
            stdout=out,
            stderr=out,
        )
        try:
            yield
        except AssertionError as error:
            error.add_note(log.read_text()[-4000:])
            raise
        finally:
            process.terminate()
            assert process.wait(PATIENCE_S) == 0


@pytest.fixture(scope="module")
def audited(
    kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ControlPlane, Audit]:
    """A cluster whose controllers run and whose requests are logged."""
    audit = Audit(tmp_path_factory.mktemp("audit"))
    plane = kubernetes.plane("audited", *audit.flags)
    kubernetes.controllers(plane)
    return plane, audit


def objects_in(plane: ControlPlane, space: str) -> dict[str, Document]:
    """What a namespace holds of what we manage, by kind and name."""
    found: dict[str, Document] = {}
    for path in ("/apis/apps/v1/{}/deployments", "/apis/apps/v1/{}/statefulsets",
                 "/apis/batch/v1/{}/cronjobs", "/api/v1/{}/services"):  # fmt: skip
        listed: Any = plane.ask("GET", path.format(f"namespaces/{space}"))
        kind = path.rpartition("/")[2]
        found |= {f"{kind}/{each['metadata']['name']}": each for each in listed["items"]}
    return found


def test_integrations_have_the_rights_they_use(
    audited: tuple[ControlPlane, Audit], tmp_path: Path
) -> None:
    """Objects of every kind are made, changed and removed; an image is tried and goes out."""
    plane, audit = audited
    space, moved, staged = (plane.namespace() for _ in range(3))
    accounts = Accounts(
        plane,
        audit,
        "kinds.integrations.enabled=true",
        "kinds.integrations.act={integrations/*}",
        f"kinds.integrations.namespaces={{{space},{moved},{staged}}}",
        "kinds.integrations.everywhere=true",
        "kinds.integrations.dryRuns=true",
        "kinds.integrations.settings.pods=proxy",
    )
    folder = Folder(tmp_path / "bundle", {plane.name: "production"}, space)
    folder.integration("stays", arguments="--first")
    more = {
        "plain": "",
        "cache": "    cache: true\n    state: true\n",
        "cron": '    cron: "0 * * * *"\n',
    }
    for name, text in more.items():
        folder.integration(name, arguments="--first", more=text)
    words = ("--fleet", "bundle", "--bundle", str(folder.root), "--removals", "100%")
    onlooker = Accounts(
        plane,
        audit,
        "kinds.integrations.enabled=true",
        f"kinds.integrations.namespaces={{{space}}}",
        "kinds.integrations.everywhere=true",
    )
    with service(tmp_path, *words, "--kubeconfig", onlooker.config, "--pods", "direct"):
        onlooker.check()
    assert objects_in(plane, space) == {}
    config = ("--kubeconfig", accounts.config, "--act", "integrations/*")

    def seen() -> dict[str, Document]:
        return objects_in(plane, space)

    with service(tmp_path, *words, *config):
        until(lambda: len(seen()) >= 5, "all kinds are made", PATIENCE_S * 2)
        assert {name.partition("/")[0] for name in seen()} == {
            "deployments", "statefulsets", "cronjobs", "services",
        }  # fmt: skip
        for name, text in more.items():
            folder.integration(name, arguments="--second", more=text)
        until(lambda: str(seen()).count("--second") >= 3, "all are changed", PATIENCE_S * 2)
        for name in more:
            folder.drop(name)
        until(lambda: len(seen()) == 2, "one and its service are left", PATIENCE_S * 2)
        # These move to another namespace; the old one is in the bundle no more.
        path = f"{plane.name}/namespace.yml"
        text = (folder.root / path).read_text(encoding="utf-8")
        folder.write(path, text.replace(space, moved))
        until(lambda: len(objects_in(plane, moved)) == 2, "they are made there", PATIENCE_S * 2)
        until(lambda: seen() == {}, "the old ones are removed", PATIENCE_S * 2)
    asyncio.run(waves(plane, accounts.space, staged))
    accounts.check()


def test_tokens_of_accounts_are_reviewed_with_one_right(
    audited: tuple[ControlPlane, Audit],
) -> None:
    """Where the values say so, and then of a chart that runs nothing else."""
    plane, audit = audited
    accounts = Accounts(plane, audit, "access.tokenReviews=true")
    token = token_of(plane, accounts.space, NAME)

    async def known() -> str:
        reviews = KubernetesReviews(plane.access(accounts.space))
        try:
            return (await reviews.review(token, "tidegate")).username
        finally:
            await reviews.close()

    # It is a token for the API server, so not one for us; but it may be asked about.
    assert asyncio.run(known()) == ""
    accounts.check()


async def waves(plane: ControlPlane, user: str, space: str) -> None:
    """A new image is tried by jobs and goes out; a pod that hangs is ended."""
    cluster = KubernetesCluster(plane.access(user), reach=PodReach.DIRECT)
    proxied = KubernetesCluster(plane.access(user), reach=PodReach.PROXY)
    stage = Stage(Declared(space), cluster)
    try:
        async with kubelet(plane, metrics=True):
            async with stage.working():
                await stage.until(done("good-1"))
            stage.declared.rules = RULES.replace(
                "rollout:\n", "rollout:\n  dryRun: {shard: stage-1}\n", 1
            )
            # The jobs of the second are made, and those of the first removed.
            for image in ("good-2", "good-3"):
                stage.declared.image = image
                async with stage.working():
                    await stage.until(done(image))
            pods = (await cluster.read(space, [POD])).objects
            # Allowed, and in vain: servers ask no pod at an address of their own machine.
            with pytest.raises(OutsideError, match=r"loopback|not allowed|50\d"):
                await proxied.fetch(pods[0], METRICS_PORT, "/metrics")
            assert await cluster.end(pods[0])
    finally:
        await cluster.close()
        await proxied.close()
        await asyncio.sleep(0.25)


@pytest.fixture
def audited_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hub, Audit]]:
    """A hub with one real managed cluster and one that is silent; its requests are logged."""
    programs, folder = needed_programs(), tmp_path_factory.mktemp("hub")
    audit = Audit(folder)
    with kube.kubernetes(kube.needed_assets(), folder) as servers:
        servers.plane("hub", *audit.flags)
        made = Hub(servers, programs)
        made.manage("m1", environment="dev")
        made.declare("m2", environment="prod")
        made.define(tidegate("policies", "crd").stdout)
        yield made, audit


def upgrade_definition() -> str:
    """The kind of another operator, which a hub may have."""
    return """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clustergroupupgrades.ran.openshift.io}
spec:
  group: ran.openshift.io
  scope: Namespaced
  names: {plural: clustergroupupgrades, kind: ClusterGroupUpgrade}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


def test_policies_have_the_rights_they_use(audited_hub: tuple[Hub, Audit], tmp_path: Path) -> None:
    """One is made, one taken over and put back, one goes in waves; a cluster leaves."""
    hub, audit = audited_hub
    plane = hub.plane
    hub.define(upgrade_definition())
    made, taken, waved = Author(hub, "made"), Author(hub, "taken"), WaveAuthor(hub, "waved")
    accounts = Accounts(
        plane,
        audit,
        "kinds.policies.enabled=true",
        "kinds.policies.act={policies/*}",
        f"kinds.policies.namespaces={{{made.namespace},{taken.namespace},{waved.namespace}}}",
    )
    taken.write("1", taken.namespace)
    until(lambda: taken.value() == "1", "the plain policy is applied", EVALUATED_S)
    taken.write("2")
    made.write("1")
    waved.inform("1")
    taken.declare(progressDeadline="10s")
    made.declare(progressDeadline="10s")
    waved.enforce(progressDeadline="10s")
    own = f"{PLACEMENTS}/namespaces/{taken.namespace}/placements/{own_placement('taken')}"
    onlooker = Accounts(plane, audit, "kinds.policies.enabled=true")
    with service(tmp_path, "--hub", onlooker.config):
        onlooker.check()
    words = ("--hub", accounts.config, "--act", "policies/*")

    def is_ours() -> bool:
        return "annotations" in _asked(plane, own).get("metadata", {})

    with service(tmp_path, *words):
        until(lambda: made.value() == "1", "what was not there is made", EVALUATED_S)
        until(lambda: taken.value() == "2", "what was there is taken over", EVALUATED_S)
        until(lambda: "binding" in waved.there(), "a wave is begun", EVALUATED_S)
        # A person takes our mark away, and the next revision puts it back.
        until(is_ours, "our placement is there")
        found = _asked(plane, own)
        found["metadata"]["annotations"] = dict.fromkeys(found["metadata"]["annotations"], "false")
        plane.ask("PUT", f"{own}?fieldManager=kubectl", found)
        taken.write("3")
        until(lambda: taken.value() == "3", "the next revision", EVALUATED_S)
        until(lambda: bool(made.pointer("m2")), "prod has its turn", EVALUATED_S)
        plane.ask("DELETE", "/apis/cluster.open-cluster-management.io/v1/managedclusters/m2")
        until(lambda: not made.pointer("m2"), "a cluster that left is forgotten", EVALUATED_S)
    accounts.check()


def _asked(plane: ControlPlane, path: str) -> dict[str, Any]:
    return asked(plane, "GET", path)[1]
