"""A line an action, on stderr, where no terminal shows a bar instead: what a pipeline keeps."""

import sys

from tidegate.kinds.integrations.app.executor import BAD, ObjectOutcome, ObjectResult
from tidegate.kinds.integrations.core.workloads.change import ObjectAction
from tidegate.settings.settings import Settings
from tidegate.telemetry.log import Log
from tidegate.wiring import clock

_WORDS = {ObjectAction.REMOVE: "delete"}


class ActionLog:
    """Writes `['apply', cluster, namespace, kind, name]`, as people know it, and its outcome."""

    def __init__(self, settings: Settings) -> None:
        wanted = settings.log_format
        terminal = sys.stderr.isatty()
        self._log: Log | None = None
        if wanted != "auto" or not terminal:
            human = wanted != "json"
            self._log = Log(clock(), _write, human=human, level=settings.log_level)

    def close(self) -> None:
        """Write what is still to be written."""
        if self._log is not None:
            self._log.close()

    def acted(self, done: ObjectResult, *, dry_run: bool = False) -> None:
        """One action, whatever came of it."""
        if self._log is None:
            return
        change = done.change
        word = (
            "release"
            if done.outcome is ObjectOutcome.RELEASED
            else _WORDS.get(change.verb, "apply")
        )
        line = [word, change.cluster, change.namespace, change.kind, change.name]
        keys = {"outcome": done.outcome.value} | ({"dry_run": True} if dry_run else {})
        if done.detail:
            keys["why"] = done.detail
        self._log.say("error" if done.outcome in BAD else "info", str(line), **keys)


def _write(line: bytes) -> None:
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()
