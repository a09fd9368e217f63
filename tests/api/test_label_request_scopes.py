"""Labels requested by callers of a part: what they see, infer and withdraw ends where it does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.test_label_requests import OWN, Served, done, owner, policy

PROD = {"groups": ("prod",)}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Observed once."""
    made = Served(tmp_path)
    yield made
    made.service.close()


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
        assert "stage" not in answer.text
        assert "4\\" not in answer.text


def test_a_move_out_of_a_sector_is_refused_before_it_is_checked(served: Served) -> None:
    """What is wrong with it names the sectors there are."""
    body = {"reason": "x", "policies": [{"name": "a", "labels": {"sector": "nowhere"}}]}
    answer = owner(served, **PROD).post(f"/policy/{OWN}", body, if_match="*")
    assert answer.status == 403, answer.text


def test_a_request_shows_and_hides_no_cluster_before_it_is_carried_out(served: Served) -> None:
    """A caller of a sector sees the clusters that are in it, and not those that are to be."""
    served.act = ()
    whole, client = owner(served), owner(served, **PROD)
    done(whole.post(f"/policy/{OWN}", policy("b", sector="prod"), if_match="*"))
    wrong = client.post(f"/policy/{OWN}", policy("z", soak_days="5"), if_match="*")
    assert (wrong.status, "there are a;" in wrong.text) == (422, True), wrong.text
    every = client.post(f"/policy/{OWN}?dryRun=true", policy("*", soak_days="5"))
    assert [each["target"] for each in done(every)["changes"]] == ["cluster/a"]
    done(whole.post(f"/policy/{OWN}", policy("a", sector="stage"), if_match="*"))
    mine = client.post(f"/policy/{OWN}?dryRun=true", policy("a", soak_days="5"))
    assert [each["target"] for each in done(mine)["changes"]] == ["cluster/a"]
