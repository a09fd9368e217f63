"""Retries without log lines: the caller reports the result itself.

By itself stamina logs every try to stdout, with errors that may hold an address, which may be a
secret; and stdout is for data.
"""

from stamina import retry_context
from stamina.instrumentation import set_on_retry_hooks

__all__ = ["retry_context"]

set_on_retry_hooks(())
