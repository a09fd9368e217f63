"""The API against its own description: no error of ours, no answer outside of its schema.

schemathesis makes requests that the description allows, and some that it does not. It takes half a
second to import, so only the process that runs these tests does.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.api.stage import PARTITION, Service, copied
from tests.sim import sized
from tidegate.api.route import BASE
from tidegate.api.route_table import ACTS, QUESTIONS

pytestmark = pytest.mark.xdist_group("schema")
# Of a route, for what is allowed and for what is not.
EXAMPLES = sized(3, 3, 200)
OPERATIONS = [
    *((each.path, "GET") for each in QUESTIONS),
    *((each.path, "POST") for each in ACTS),
]
# Names that are there: else every answer is that nothing is called so.
NAMES = (PARTITION, "rollout", "prod-1", "known")


@pytest.fixture(scope="module")
def schema(decided: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The description, read once; and so are the strategies of its routes."""
    import schemathesis

    with Service(copied(decided, tmp_path_factory.mktemp("described"))) as made:
        return schemathesis.openapi.from_asgi("/openapi.json", made.app)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize("path, method", OPERATIONS)
def test_an_answer_is_what_its_schema_says(
    service: Service, schema: Any, path: str, method: str, mode: str
) -> None:
    """Of every route: whatever is sent, the answer is one that is described."""
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    client = service.client()
    hold = {"reason": "a test", "scope": {"everything": True}}
    for brake in ("hold", "block"):
        client.post(f"/{brake}/known", hold)
    operation = schema[BASE + path][method]
    operation.app = service.app
    login = {"Authorization": f"Bearer {client.token}"}

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)
    @given(case=operation.as_strategy(generation_mode=GenerationMode(mode)))
    def check(case: Any) -> None:
        if path.endswith("{name}") and len(json.dumps(str(case.body))) % 2:
            case.path_parameters["name"] = NAMES[len(str(case.body)) % len(NAMES)]
        # What a schema allows may still mean nothing here and now: a group that is not there.
        case.call_and_validate(headers=login, excluded_checks=[positive_data_acceptance])

    check()


def test_the_description_is_valid_and_names_every_route(service: Service) -> None:
    """Each route once, with all that it can answer."""
    import schemathesis

    found = json.loads(service.client().get("/openapi.json").text)
    schemathesis.openapi.from_dict(found)
    assert found["openapi"] == "3.1.0"
    named = {(path, method) for path, each in found["paths"].items() for method in each}
    ours = {(BASE + path, method.lower()) for path, method in OPERATIONS}
    assert ours <= named
    ids = [each["operationId"] for path in found["paths"].values() for each in path.values()]
    assert len(ids) == len(set(ids))
