"""What a server's refusal means: its Status document as an error of ours."""

import re

import msgspec

from tidegate.kubernetes.port import (
    AbsentError,
    ConflictError,
    ExpiredError,
    FieldConflict,
    NotAllowedError,
    ObjectRefusedError,
)
from tidegate.model.errors import OutsideError, StaleError, TidegateError
from tidegate.model.json_text import json_decoder
from tidegate.model.problem import shorten

# Longer ones are cut: the server repeats whole objects in some.
MESSAGE_LENGTH_MAX = 400
# At most so many causes are shown; a document with more is wrong as a whole.
CAUSES_MAX = 10
# Server-side apply refuses a document that fits no schema with 500, as if the server had failed.
_MISFITS = ("failed to create typed patch object", "failed to convert new object")
_OWNER = re.compile(r'conflict with "(?P<manager>[^"]*)"')


class Cause(msgspec.Struct, frozen=True):
    """One reason of several."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True):
    """What the reasons are about."""

    causes: tuple[Cause, ...] = ()
    retryAfterSeconds: int = 0  # noqa: N815 the server's word


class ApiStatus(msgspec.Struct, frozen=True):
    """How a server says no."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None

    @property
    def misfit(self) -> bool:
        """Whether it is the document that is wrong, whatever the code says."""
        return self.message.startswith(_MISFITS)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """All reasons."""
        return self.details.causes if self.details is not None else ()


_decode = json_decoder(ApiStatus)


def read_status(body: bytes) -> ApiStatus:
    """The Status in an answer; whatever else stands there is its message."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ApiStatus(message=shorten(" ".join(body.decode(errors="replace").split())))


def error_of(where: str, code: int, status: ApiStatus) -> TidegateError:
    """The error of a refusal that trying again will not change."""
    stated = _cut(status.message) or "no reason given"
    if code == 401:
        return NotAllowedError(
            f"{where}: it does not know us (401): renew the token or certificate"
        )
    if code == 403:
        return NotAllowedError(f"{where}: not allowed (403): {stated}")
    if code == 409 and (conflicts := _conflicts(status)):
        return ConflictError(where, conflicts)
    if code == 409:
        return StaleError(f"{where}: changed meanwhile (409): {stated}")
    if code == 422 and any(cause.field == "metadata.uid" for cause in status.causes):
        return StaleError(f"{where}: another one has its name now")
    if code == 410:
        return ExpiredError(f"{where}: its history is gone (410): read anew")
    if code in (400, 413, 415, 422) or status.misfit:
        return ObjectRefusedError(f"{where}: refused ({code}): {_causes(status) or stated}")
    kind = AbsentError if code == 404 else OutsideError
    return kind(f"{where}: HTTP {code}: {stated}")


def _conflicts(status: ApiStatus) -> tuple[FieldConflict, ...]:
    """Who owns what, where it is about that."""
    return tuple(
        FieldConflict(cause.field, match["manager"] if match else cause.message)
        for cause in status.causes
        if cause.reason == "FieldManagerConflict"
        for match in (_OWNER.search(cause.message),)
    )


def _causes(status: ApiStatus) -> str:
    stated = [f"{cause.field}: {_cut(cause.message)}" for cause in status.causes if cause.field]
    more = f"; and {len(stated) - CAUSES_MAX} more" if len(stated) > CAUSES_MAX else ""
    return "; ".join(stated[:CAUSES_MAX]) + more


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MESSAGE_LENGTH_MAX else text[: MESSAGE_LENGTH_MAX - 1] + "…"
