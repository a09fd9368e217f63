"""TokenReviews at an API server: one POST each, which changes nothing there."""

from typing import Any

import msgspec

from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.client.server import ApiServer, ServerLimits
from tidegate.kubernetes.review_port import ReviewedToken
from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json

_PATH = "/apis/authentication.k8s.io/v1/tokenreviews"
# A caller waits for the answer, and asks again if there is none.
LIMITS = ServerLimits(
    concurrency_max=10, rate_max=50, timeout_s=5.0, total_s=8.0, tries_max=2, rest_s=2.0
)


class _User(msgspec.Struct, frozen=True):
    username: str = ""
    groups: tuple[str, ...] = ()


class _Status(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _User = _User()
    audiences: tuple[str, ...] = ()


class _Review(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class KubernetesReviews:
    """The reviews of one cluster; its role must allow `create` of `tokenreviews`."""

    def __init__(self, access: ClusterAccess, limits: ServerLimits = LIMITS) -> None:
        self.name = access.name
        self._server = ApiServer(access, limits)

    async def review(self, token: str, audience: str) -> ReviewedToken:
        """The account of a token; OutsideError if there is no answer."""
        body: dict[str, Any] = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [audience]},
        }
        raw = msgspec.json.encode(body)
        answer = await self._server.ask("POST", _PATH, "reviewing a token", body=raw)
        try:
            status = decode_json(answer.body, _Review).status
        except msgspec.MsgspecError:
            raise OutsideError(f"{self.name}: its answer is no review of a token") from None
        if not status.authenticated:
            return ReviewedToken()
        user = status.user
        return ReviewedToken(username=user.username, groups=user.groups, audiences=status.audiences)

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()
