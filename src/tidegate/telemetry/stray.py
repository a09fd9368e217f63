"""What Python and libraries say by themselves, as lines of the log: stderr has no other line.

A program that reads the log line by line stops at the first that is no JSON: a warning, a traceback
of a thread, an exception in a destructor, a library that logs, words of the command line at the
end. Each of these has a hook here, and what has none is written to `sys.stderr`, which is a line,
too. Only what the interpreter itself writes as it dies is past this.
"""

import io
import logging
import sys
import threading
import traceback
from typing import TYPE_CHECKING

from tidegate.telemetry.log import Log

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class StrayText(io.TextIOBase):
    """A stream whose every write is a line of the log; one without an end waits for it."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, log: Log, number: int) -> None:
        """`number`: of the file that the log is written to."""
        self._log = log
        self._number = number
        self._begun = ""

    def fileno(self) -> int:
        """The file behind it."""
        return self._number

    def writable(self) -> bool:
        """It is for nothing else."""
        return True

    def write(self, text: str) -> int:
        """One line, whatever ends of lines are in it."""
        self._begun += text
        if self._begun.endswith("\n"):
            self._tell()
        return len(text)

    def close(self) -> None:
        """Nothing is closed: the log goes on."""
        self._tell()

    def _tell(self) -> None:
        said, self._begun = self._begun.strip(), ""
        if said:
            self._log.at_once("error", said, what="stderr")


def take_stray(log: Log, number: int) -> None:
    """Have all that is not said by the log become lines of it, until the process ends."""
    log.adopt("")
    logging.captureWarnings(capture=True)

    def of_thread(met: threading.ExceptHookArgs) -> None:
        name = "" if met.thread is None else met.thread.name
        error = "".join(traceback.format_exception(met.exc_type, met.exc_value, met.exc_traceback))
        log.at_once("error", f"a thread ended by an error: {name}", what="stderr", error=error)

    def unraisable(met: "UnraisableHookArgs") -> None:
        what = met.err_msg or "an error that cannot be raised"
        log.at_once("error", f"{what}: {met.object!r}", what="stderr", error=repr(met.exc_value))

    threading.excepthook = of_thread
    sys.unraisablehook = unraisable
    sys.stderr = StrayText(log, number)
