"""What versions have soaked, over HTTP: owners need it for `why` and `when` of their own."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tidegate.api.app import json_answer

Published = Callable[[str], dict[str, Any]]
"""The documents of one `env/org`, by that key; of all where it is empty."""


def soak_routes(published: Published) -> list[Route]:
    """`/soak`, and `/soak/ENV/ORG`."""

    def every(_: Request) -> Response:
        return json_answer(published(""))

    def one(request: Request) -> Response:
        key = f"{request.path_params['env']}/{request.path_params['org']}"
        found = published(key)
        return json_answer(found or {"error": f"nothing is kept of {key}"}, 200 if found else 404)

    # Not async: journals are read, so they run in a thread.
    return [Route("/soak", every), Route("/soak/{env}/{org}", one)]
