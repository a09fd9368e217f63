"""Whatever stands in a document, it is answered or refused with its problems; never a crash."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sim.drawn import Drawn
from tidegate.documents.line import parse_line
from tidegate.documents.strict_yaml import read_yaml
from tidegate.kinds.policies.wire.placement_line import reply as reply_placement
from tidegate.kinds.policies.wire.rehearsal_doc import read_rehearsal
from tidegate.kinds.rollouts.wire.rollout_modes import MODES
from tidegate.kinds.rollouts.wire.scenario_doc import read_scenario
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

ROOT = Path(__file__).parents[2]
FULL: dict[str, Any] = {
    "id": 1,
    "now": "2026-01-01T00:00:00Z",
    "revision": "r2",
    "complete": True,
    "groups": [
        {"name": "dev", "index": 0, "clusters": ["a", "b"], "clusterCount": 2},
        {"name": "", "index": 3, "clusters": ["c"]},
    ],
    "statuses": [
        {"cluster": "a", "status": "Succeeded", "lastTransitionTime": "2025-12-31T23:00:00Z"},
        {"cluster": "b", "status": "Odd", "revision": "r1"},
    ],
    "clusters": [{"name": "a", "labels": {"wave": "1"}}],
    "strategy": {
        "type": "Progressive",
        "progressive": {
            "minSuccessTime": "1h",
            "progressDeadline": "2h",
            "maxFailures": "10%",
            "maxConcurrency": 1,
            "mandatoryDecisionGroups": [{"groupName": "dev"}],
        },
        "onFailure": "rollback",
        "onNewRevision": "finish",
        "order": {"by": "label", "label": "wave"},
        "ignoreClusterRolloutStatus": {
            "matchExpressions": [{"key": "wave", "operator": "In", "values": ["2"]}]
        },
    },
    "rollout": {
        "uid": "u",
        "version": "v",
        "revision": "r1",
        "lastGood": "r0",
        "approvals": {"groups": ["dev"], "ungrouped": True, "forVersion": "v"},
        "retry": {"uid": "u"},
    },
}
PLACEMENT: dict[str, Any] = json.loads(
    (ROOT / "tests/vectors/rollout/placement.jsonl").read_text(encoding="utf-8").splitlines()[1]
)["input"]
SCENARIO: dict[str, Any] = read_yaml(
    "rollout.yaml", (ROOT / "examples/rollout.yaml").read_text(encoding="utf-8")
).data
REHEARSAL: dict[str, Any] = read_yaml(
    "policies.yaml", (ROOT / "examples/policies.yaml").read_text(encoding="utf-8")
).data

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.sampled_from(["0s", "-1h", "101%", "2.5%", "9" * 30 + "h", "None", "2026-13-01T00:00:00Z"]),
    st.just([]),
    st.just({}),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def refusal(answer: Callable[[], object]) -> tuple[Problem, ...]:
    """The problems with which something is refused, at least one; none if it is answered."""
    try:
        answer()
    except UserError as error:
        return error.problems or (Problem("", ""),)
    return ()


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every part of a document."""
    below: list[tuple[Any, ...]] = [here] if here else []
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in parts:
        below += paths(child, (*here, key)) if isinstance(child, dict | list) else [(*here, key)]
    return below


@st.composite
def bent(draw: st.DrawFn, whole: dict[str, Any]) -> dict[str, Any]:
    """The document with up to three parts replaced by something odd, or gone."""
    document = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        spots = paths(document)
        if not spots:
            break
        *parents, last = Drawn(draw).pick(spots)
        place = document
        for key in parents:
            place = place[key]
        if draw(st.booleans()) and isinstance(place, dict):
            del place[last]
        else:
            place[last] = draw(ODD)
    return document


@pytest.mark.parametrize("mode", MODES)
@given(document=bent(FULL))
def test_rollout_lines_are_answered_or_refused(mode: str, document: dict[str, Any]) -> None:
    """A bent rollout line yields an answer that encodes, or problems that each say something."""
    refused = refusal(lambda: msgspec.json.encode(MODES[mode](json.dumps(document).encode())))
    assert all(problem.text() for problem in refused)


@given(document=bent(PLACEMENT))
def test_placement_lines_are_answered_or_refused(document: dict[str, Any]) -> None:
    """The same for placement lines."""
    line = json.dumps(document).encode()
    refused = refusal(lambda: msgspec.json.encode(reply_placement(parse_line(line))))
    assert all(problem.text() for problem in refused)


@given(document=bent(SCENARIO))
def test_scenarios_are_read_or_refused(document: dict[str, Any]) -> None:
    """The same for scenario documents."""
    assert all(problem.text() for problem in refusal(lambda: read_scenario(document)))


@given(document=bent(REHEARSAL))
def test_rehearsals_of_policies_are_read_or_refused(document: dict[str, Any]) -> None:
    """The same for rehearsals of policies."""
    assert all(problem.text() for problem in refusal(lambda: read_rehearsal(document)))


@given(raw=st.binary(max_size=60))
def test_any_bytes_are_a_line_or_refused(raw: bytes) -> None:
    """Bytes that are no JSON object are refused as such."""
    assert len(refusal(lambda: parse_line(raw))) <= 1


@given(text=st.text(alphabet="ab:-[]{}&*!|>#'\"\n\t ,?%@`0123.eE~<yn", max_size=60))
def test_any_text_is_yaml_or_refused(text: str) -> None:
    """Text that is no strict YAML is refused with its line."""
    assert all(problem.text() for problem in refusal(lambda: read_yaml("x.yaml", text)))
