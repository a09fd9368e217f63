"""A simulated hub in a thread of its own, for commands that talk to one over HTTP."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from tests.hub_stage import HubStage
from tests.patience import ended, happened
from tidegate.kubernetes.simulated.server.server import Hosted, KubeServer

# How often scheduler, propagator and agents of a served hub act.
STEP_S = 0.02
_TOKEN = "secret"


@contextmanager
def served_hub(stage: HubStage, folder: Path) -> Iterator[Path]:
    """The kubeconfig of a hub that answers and acts until the end."""
    ready, stop = Event(), Event()
    ear = socket.create_server(("127.0.0.1", 0))
    server = KubeServer([Hosted(stage.hub.api, _TOKEN)])

    async def acts() -> None:
        while not stop.is_set():
            stage.hub.settle()
            await asyncio.sleep(STEP_S)
        server.stop()

    async def both() -> None:
        acting = asyncio.create_task(acts())
        ready.set()
        await server.serve(ear)
        acting.cancel()
        with suppress(asyncio.CancelledError):
            await acting

    thread = Thread(target=asyncio.run, args=(both(),), daemon=True)
    thread.start()
    happened(ready, "the hub is served")
    path = folder / "hub.kubeconfig"
    url = f"http://127.0.0.1:{ear.getsockname()[1]}/hub"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "hub", "cluster": {"server": url}}],
        "users": [{"name": "hub", "user": {"token": _TOKEN}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "hub"}}],
        "current-context": "hub",
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    try:
        yield path
    finally:
        stop.set()
        ended(thread)
