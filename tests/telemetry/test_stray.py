"""Nothing but lines of JSON is on stderr, whatever Python and libraries say by themselves."""

import json
import subprocess
import sys

from tests.patience import PATIENCE_S

PROGRAM = """
import asyncio, logging, os, sys, threading, traceback, warnings
from tidegate.machine.system_clock import SystemClock
from tidegate.telemetry.log import Log
from tidegate.telemetry.stray import take_stray

log = Log(SystemClock(), lambda line: os.write(2, line), human=False)
take_stray(log, 2)

class Odd:
    def __del__(self):
        raise ValueError("in a destructor")

async def never():
    pass

async def loop():
    asyncio.create_task(asyncio.sleep(0)).add_done_callback(lambda _: 1 / 0)
    await asyncio.sleep(0.01)

warnings.warn("a warning", stacklevel=1)
logging.getLogger("some.library").warning("a library\\nin two lines")
logging.getLogger("some.library").info("not worth a line")
thread = threading.Thread(target=lambda: {}["in a thread"], name="odd")
thread.start()
thread.join()
Odd()
never()
asyncio.run(loop())
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc()
print("half ", end="", file=sys.stderr)
print("a line", file=sys.stderr)
sys.stderr.write("two\\nlines\\n")
log.close()
raise SystemError("at the end")
"""
SAID = (
    "UserWarning: a warning",
    "a library",
    "a thread ended by an error: odd",
    "in a destructor",
    "was never awaited",
    "Exception in callback",
    "division by zero",
    "half a line",
    "two\nlines",
    "SystemError: at the end",
)


def test_every_line_on_stderr_is_json() -> None:
    """Warnings, libraries, threads, destructors, the event loop, prints and the last traceback."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    said = "\n".join(f"{line['msg']} {line.get('error', '')}" for line in lines)
    for each in SAID:
        assert each in said, (each, said)
    assert "not worth a line" not in said
    assert {line["level"] for line in lines} == {"warning", "error"}
