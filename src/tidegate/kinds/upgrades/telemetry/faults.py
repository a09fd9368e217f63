"""Whose fault an error of a round is: decides who is paged, and after how long."""

from tidegate.kinds.upgrades.core.faults import FaultParty
from tidegate.kinds.upgrades.ocm.port import UNAUTHORIZED, OcmRefusedError
from tidegate.model.errors import OutsideError, StaleError

# Our credentials are wrong there, or may not do it.
_NOT_ALLOWED = (UNAUTHORIZED, 403)


def fault_of_error(error: BaseException, *, own_credentials: bool = False) -> FaultParty | None:
    """Whose fault it is; None: no fault, the state changed meanwhile and is read again.

    `own_credentials`: it happened under those of the organisation, which it has to fix.
    """
    if isinstance(error, StaleError):
        return None
    if isinstance(error, OcmRefusedError) and error.status in _NOT_ALLOWED:
        return FaultParty.USER if own_credentials else FaultParty.OURS
    if isinstance(error, OutsideError | TimeoutError | OSError):
        return FaultParty.OUTSIDE
    return FaultParty.OURS
