"""What answers on the main address of `serve`: the API, the page, and the routes of kinds.

In the process of the worker where the journal is in memory, and else in one of its own
(`fork.py`): rounds and readers then take no time from each other.
"""

import socket
from collections.abc import Iterable

from starlette.routing import BaseRoute

from tidegate.access.policy_doc import AccessPolicy
from tidegate.api.app import Probes, make_app
from tidegate.api.dispatch import Refused
from tidegate.api.route import BASE
from tidegate.api.route_table import ACTS, QUESTIONS
from tidegate.api.server import AppServer, TlsFiles
from tidegate.cli.worker.service import make_service
from tidegate.engine.started import Started
from tidegate.net.picture_links import PictureLinks
from tidegate.store.archive_port import Archive
from tidegate.telemetry.requests import RequestNumbers


class Front:
    """Answers requests, in this process."""

    def __init__(
        self,
        store: Archive,
        kinds: Iterable[Started],
        policy: AccessPolicy,
        tls: TlsFiles | None,
        probes: Probes,
        refused: Refused,
        pictures: PictureLinks,
        *,
        here: bool,
        own_process: bool,
    ) -> None:
        """`here`: the journal is a file of this machine. `own_process`: no worker runs in it."""
        routes: list[BaseRoute] = [route for each in kinds for route in each.routes(store)]
        self._api, pages = make_service(
            store,
            policy,
            refused,
            here=here,
            follows=own_process and not here,
            pictures=pictures,
        )
        words = {each.verb for each in (*QUESTIONS, *ACTS)}
        self._numbers = RequestNumbers(BASE, words, own_process=own_process)
        routes += [*self._api.routes(), *pages.routes()]
        self._server = AppServer(make_app(probes, routes, self._numbers.timed), tls)

    def metrics(self) -> bytes:
        """Its numbers."""
        return self._numbers.text()

    def ill(self) -> list[str]:
        """What is wrong with it: nothing that its process would not say."""
        return []

    async def run(self, ear: socket.socket) -> None:
        """Answer until it is stopped."""
        try:
            await self._server.serve([ear])
        finally:
            self._api.close()
            await self._api.closed()

    def hush(self) -> None:
        """End the streams; nothing more is begun."""
        self._api.close()

    def stop(self) -> None:
        """Take no more requests, and end."""
        self._server.stop()
