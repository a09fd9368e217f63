"""Service accounts of a real cluster: known by their tokens, made for us, while they exist."""

import asyncio
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from tests.api.stage import PARTITION, Client, Service, rollout_journal
from tests.contract.clusters import REAL
from tests.real.kube import NOBODY, ControlPlane, Kubernetes
from tidegate.access.policy_doc import read_policy
from tidegate.kubernetes.client.reviews import KubernetesReviews
from tidegate.model.errors import OutsideError

pytestmark = REAL

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLE = {
    "metadata": {"name": "reviewer"},
    "rules": [
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]}
    ],
}


@pytest.fixture
def plane(kubernetes: Kubernetes) -> ControlPlane:
    """A cluster in which the account `nobody` may review tokens, and nothing else."""
    made = kubernetes.plane("reviews")
    binding = {
        "metadata": {"name": "reviewer"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "reviewer",
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": NOBODY}],
    }
    for path, body in (("clusterroles", ROLE), ("clusterrolebindings", binding)):
        try:
            made.ask("POST", f"{RBAC}/{path}", body)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != 409:  # another test made it
                raise
    return made


def account(plane: ControlPlane, namespace: str, name: str) -> None:
    """A service account."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    plane.ask("POST", path, {"metadata": {"name": name}})


def token_of(plane: ControlPlane, namespace: str, name: str, audience: str = "tidegate") -> str:
    """A token of it, as a pod gets one."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    spec = {"spec": {"audiences": [audience], "expirationSeconds": 600}}
    found: Any = plane.ask("POST", path, spec)
    return str(found["status"]["token"])


def test_an_account_is_reviewed_while_it_exists(plane: ControlPlane) -> None:
    """By a caller that may do nothing else; another audience or a deleted account is unknown."""
    namespace = plane.namespace("ci")
    account(plane, namespace, "deployer")
    # A server remembers for some seconds what it said of a token, so each is for one question.
    token, later = (token_of(plane, namespace, "deployer") for _ in range(2))

    async def story() -> None:
        reviews = KubernetesReviews(plane.access(NOBODY))
        try:
            found = await reviews.review(token, "tidegate")
            assert found.username == f"system:serviceaccount:{namespace}:deployer"
            assert f"system:serviceaccounts:{namespace}" in found.groups
            assert found.audiences == ("tidegate",)
            assert not (await reviews.review(token, "another")).username
            assert not (await reviews.review(f"{token}x", "tidegate")).username
            path = f"/api/v1/namespaces/{namespace}/serviceaccounts/deployer"
            await asyncio.to_thread(plane.ask, "DELETE", path)
            assert not (await reviews.review(later, "tidegate")).username
        finally:
            await reviews.close()

    asyncio.run(story())


def test_a_cluster_that_refuses_or_is_down_is_an_error(plane: ControlPlane) -> None:
    """It is never taken for a yes, nor for a no."""

    async def story() -> None:
        stranger = KubernetesReviews(plane.access("a token that is none"))
        with pytest.raises(OutsideError):
            await stranger.review("x.y.z", "tidegate")
        await stranger.close()
        reviews = KubernetesReviews(plane.access(NOBODY))
        assert plane.api is not None
        await asyncio.to_thread(plane.api.kill)
        try:
            with pytest.raises(OutsideError, match="reviews: reviewing a token"):
                await reviews.review("x.y.z", "tidegate")
        finally:
            await asyncio.to_thread(plane.restart)
            await reviews.close()

    asyncio.run(story())


def test_a_service_knows_the_accounts_of_its_cluster(plane: ControlPlane, tmp_path: Path) -> None:
    """With the roles that the policy file gives to them, and to all of a namespace."""
    namespace = plane.namespace("ci")
    for each in ("deployer", "reader"):
        account(plane, namespace, each)
    policy = read_policy(
        {
            "kubernetes": {},
            "grants": [
                {"role": "operator", "subjects": [f"serviceaccount:{namespace}:deployer"]},
                {"role": "viewer", "subjects": [f"group:system:serviceaccounts:{namespace}"]},
            ],
        },
        "policy.yaml",
    )
    reviews = OneLoopEach(plane)
    service = Service(rollout_journal(tmp_path), policy, reviews)
    deployer = Client(service.app, token_of(plane, namespace, "deployer"))
    reader = Client(service.app, token_of(plane, namespace, "reader"))
    other = Client(service.app, token_of(plane, namespace, "reader", "vault"))
    assert deployer.post(f"/pause/{PARTITION}", {"reason": "x"}).status == 200
    assert reader.get(f"/why/{PARTITION}").status == 200
    assert reader.post(f"/pause/{PARTITION}", {"reason": "x"}).status == 403
    assert other.get("/status").status == 401
    via = deployer.get("/whoami").json["via"]
    assert via == f"service account {namespace}:deployer of the cluster reviews"
    service.close()


class OneLoopEach:
    """The client of the tests has a loop for each request, so connections are not kept."""

    name = "reviews"

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    async def review(self, token: str, audience: str) -> Any:
        """What the cluster says of a token."""
        reviews = KubernetesReviews(self._plane.access(NOBODY))
        try:
            return await reviews.review(token, audience)
        finally:
            await reviews.close()

    async def close(self) -> None:
        """Nothing is open."""
