"""Whatever stands in the brakes of a document, it is answered or refused; never a crash."""

from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given

from tests.property.test_documents_never_crash import bent
from tidegate.config.strict_yaml import read_yaml
from tidegate.core.errors import UserError
from tidegate.core.rollout.decide import decide
from tidegate.wire.rollout_answer import answer_rollout
from tidegate.wire.rollout_doc import read_rollout
from tidegate.wire.scenario_doc import read_scenario

EXAMPLES = Path(__file__).parents[2] / "examples"
ICS = (EXAMPLES / "holidays.ics").read_text(encoding="utf-8")


def example(name: str) -> dict[str, Any]:
    """An example document as data."""
    data: dict[str, Any] = read_yaml(name, (EXAMPLES / name).read_text(encoding="utf-8")).data
    return data


STATE, SCENARIO = example("brakes.yaml"), example("freeze.yaml")


def holidays(name: str) -> str:
    """The one file there is."""
    if name != "holidays.ics":
        raise FileNotFoundError(2, "No such file or directory")
    return ICS


@given(brakes=bent(STATE["brakes"]))
def test_bent_brakes_are_answered_or_refused(brakes: dict[str, Any]) -> None:
    """A state with bent brakes yields an answer that encodes, or problems that each say something."""
    try:
        reading = read_rollout({**STATE, "brakes": brakes}, files=holidays)
    except UserError as error:
        assert error.problems
        assert all(problem.path.startswith("brakes") for problem in error.problems)
        return
    plan = decide(reading.world, reading.now)
    msgspec.json.encode(answer_rollout(None, reading.world, plan, reading.now))


@given(document=bent(SCENARIO))
def test_bent_scenarios_with_brakes_are_read_or_refused(document: dict[str, Any]) -> None:
    """The same for scenarios with a freeze and a hold."""
    try:
        read_scenario(document)
    except UserError as error:
        assert error.problems


@given(freeze=bent(STATE["brakes"]["freezes"][0]))
def test_bent_freezes_are_answered_or_refused(freeze: dict[str, Any]) -> None:
    """A freeze has the most ways to be written wrongly."""
    brakes = {"freezes": [freeze]}
    try:
        reading = read_rollout({**STATE, "brakes": brakes})
    except UserError as error:
        assert error.problems
    else:
        decide(reading.world, reading.now)
