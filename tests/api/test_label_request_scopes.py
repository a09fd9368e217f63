"""Labels requested by callers of a part: what they see, infer and withdraw ends where it does."""

from typing import Any

import pytest

from tests.api.test_label_requests import OWN, Served, owner
from tests.api.test_label_requests import served as served

PROD = {"groups": ("prod",)}


@pytest.mark.parametrize(
    "verb, body",
    [
        ("version-blocks", {"remove": ["x"]}),
        ("version-blocks", {"add": [r"^4\.17\.1$"]}),
        ("remove-sectors", {"sectors": ["x"]}),
        ("sectors", {"sectors": [{"name": "prod", "removeDependency": ["x"]}]}),
        ("sectors", {"sectors": [{"name": "prod", "dependsOn": ["prod"]}]}),
        ("inheritance", {"remove": {"inherit": ["x"]}}),
        ("inheritance", {"add": {"inherit": ["q"]}}),
        ("gate-approvals", {"gates": []}),
    ],
)
@pytest.mark.parametrize("limits", [PROD, {"selector": "sector=prod"}])
def test_no_answer_tells_the_labels_of_an_organisation_to_a_caller_of_a_sector(
    served: Served, verb: str, body: dict[str, Any], limits: dict[str, Any]
) -> None:
    """Neither a mistake nor that nothing would change: it is refused before it is looked at."""
    client = owner(served, **limits)
    for path in (f"/{verb}/{OWN}", f"/{verb}/{OWN}?dryRun=true"):
        answer = client.post(path, {"reason": "x", **body}, if_match="*")
        assert answer.status == 403, answer.text
        assert "stage" not in answer.text and "4\\" not in answer.text


def test_a_move_out_of_a_sector_is_refused_before_it_is_checked(served: Served) -> None:
    """What is wrong with it names the sectors there are."""
    body = {"reason": "x", "policies": [{"name": "a", "labels": {"sector": "nowhere"}}]}
    answer = owner(served, **PROD).post(f"/policy/{OWN}", body, if_match="*")
    assert answer.status == 403, answer.text
