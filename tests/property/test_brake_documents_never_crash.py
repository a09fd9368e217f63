"""Whatever stands in the brakes of a document, it is answered or refused; never a crash."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.property.test_documents_never_crash import bent
from tidegate.documents.strict_yaml import read_yaml
from tidegate.kinds.rollouts.core.decide import decide
from tidegate.kinds.rollouts.wire.rollout_answer import answer_rollout
from tidegate.kinds.rollouts.wire.rollout_doc import read_rollout
from tidegate.kinds.rollouts.wire.scenario_doc import read_scenario
from tidegate.model.errors import UserError

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
    """A state with bent brakes yields an answer that encodes, or problems of the brakes."""
    _answer({**STATE, "brakes": brakes})


def _answer(document: dict[str, Any]) -> None:
    try:
        reading = read_rollout(document, files=holidays)
    except UserError as error:
        _check(error)
        return
    plan = decide(reading.world, reading.now)
    msgspec.json.encode(answer_rollout(None, reading.world, plan, reading.now))


def _check(error: UserError) -> None:
    assert error.problems
    assert all(problem.path.startswith("brakes") for problem in error.problems)
    assert all(problem.text() for problem in error.problems)


@given(document=bent(SCENARIO))
def test_bent_scenarios_with_brakes_are_read_or_refused(document: dict[str, Any]) -> None:
    """The same for scenarios with a freeze and a hold."""
    with suppress(UserError):
        read_scenario(document)


@given(freeze=bent(STATE["brakes"]["freezes"][0]))
def test_bent_freezes_are_answered_or_refused(freeze: dict[str, Any]) -> None:
    """A freeze has the most ways to be written wrongly."""
    _answer({**STATE, "brakes": {"freezes": [freeze]}})


PROBE = {
    "server": "main",
    "url": "https://prometheus.example.com",
    "runs": {
        "clean": 'runs_total{result="ok", version=$revision}',
        "failed": 'runs_total{result="failed"}',
        "by": ["shard"],
        "atLeast": 3,
        "window": "6h",
    },
    "checks": {"good": "min(up) == bool 1", "every": "1m", "after": "5m", "by": ["shard"]},
    "alerts": {"rules": ["Failing"], "match": '{team="x", version=$revision}'},
}


@given(probe=bent(PROBE), runs=st.sampled_from([0, 3, 10**9]))
def test_bent_probes_are_answered_or_refused(probe: dict[str, Any], runs: int) -> None:
    """So has a probe; and one that is read can be asked, whatever the revision is called."""
    gate = {"name": "g", "scope": {"everything": True}, "maxAge": "1h", "cleanRuns": runs}
    _answer({**STATE, "brakes": {"health": [{**gate, "prometheus": probe}]}})
