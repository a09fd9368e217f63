"""How a simulated API server says no: Status documents, as the real one writes them."""

from collections.abc import Sequence
from typing import Any

from tidegate.kubernetes.port import ConflictError, ExpiredError, ObjectRefusedError
from tidegate.model.errors import OutsideError, StaleError, TidegateError, UserError

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    503: "ServiceUnavailable",
}
# Where our own words for a refusal end, and the server's begin.
_REFUSED, _MISSING = "refused (422): ", "HTTP 404: "


class RefusalError(Exception):
    """A request is refused, with a code and reasons."""

    def __init__(
        self,
        code: int,
        message: str,
        causes: Sequence[dict[str, str]] = (),
        reason: str = "",
    ) -> None:
        self.code = code
        self._causes = list(causes)
        self._message = message
        self._reason = reason or _REASONS[code]
        super().__init__(message)

    def status(self) -> dict[str, Any]:
        """The Status document."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self._message,
            "reason": self._reason,
            "details": {"causes": self._causes},
            "code": self.code,
        }


def refusal_of(error: TidegateError, api_version: str = "v1") -> RefusalError:
    """What a server would say where our simulated cluster raised."""
    text = str(error)
    if isinstance(error, ConflictError):
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f'conflict with "{each.manager}" using {api_version}',
                "field": each.field,
            }
            for each in error.conflicts
        ]
        stated = f"Apply failed with {len(causes)} conflicts"
        return RefusalError(409, stated, causes)
    if isinstance(error, ExpiredError):
        return RefusalError(410, "The provided resource version is too old")
    if isinstance(error, StaleError):
        return RefusalError(409, text)
    if isinstance(error, ObjectRefusedError):
        return _invalid(text)
    if isinstance(error, UserError):
        return RefusalError(400, text)
    if isinstance(error, OutsideError) and _MISSING in text:
        return RefusalError(404, text.partition(_MISSING)[2])
    return RefusalError(503, text)


def _invalid(text: str) -> RefusalError:
    _, ours, stated = text.rpartition(_REFUSED)
    if not ours:
        return RefusalError(400, text)
    field, _, why = stated.partition(": ")
    return RefusalError(
        422, stated, [{"reason": "FieldValueInvalid", "message": why, "field": field}]
    )
