"""A Promotion document: what it may say, and what is said of what it may not."""

import pytest

from tidegate.kinds.promotions.core.model import CommitForm, FilePlace, SaasPlace
from tidegate.kinds.promotions.files.declared import ready_made
from tidegate.kinds.promotions.wire.promotion_doc import read_promotion
from tidegate.model.problem import Problems

WHOLE = {
    "$schema": "/tidegate/promotion-1.yml",
    "name": "reconcile",
    "artifact": {"repository": "https://git.example.com/r", "image": "quay.io/a/r"},
    "schemas": {
        "repository": "https://git.example.com/s",
        "places": [{"file": ".env", "line": "export S="}],
    },
    "environments": [
        {"name": "stage", "follows": "main"},
        {"name": "canary", "places": [{"saas": "a*", "environment": "*-prod", "form": "full"}]},
        {"name": "rest", "after": ["stage"], "places": [{"file": "b.yml", "at": "x.y"}]},
    ],
}


def test_a_whole_document_is_read() -> None:
    """Places, order and forms come out as they were written."""
    problems = Problems()
    found = read_promotion(WHOLE, problems, "p.yml")
    assert not problems.errors
    assert [(each.name, each.after) for each in found.environments] == [
        ("stage", ()),
        ("canary", ("stage",)),
        ("rest", ("stage",)),
    ]
    assert found.environments[1].places == (
        SaasPlace(saas="a*", environment="*-prod", form=CommitForm.FULL),
    )
    assert found.environments[2].places == (FilePlace(file="b.yml", at="x.y"),)


WRONG = [
    ({"name": ""}, "name: missing"),
    ({"environments": []}, "environments: missing"),
    ({"environments": [{"name": "a"}]}, "environments[0]: no places"),
    (
        {"environments": [{"name": "a", "follows": "main", "places": [{"file": "x", "key": "k"}]}]},
        "environments[0]: both places and a branch",
    ),
    (
        {"environments": [{"name": "a", "places": [{"file": "x", "key": "k", "line": "l"}]}]},
        "environments[0].places[0]: key and line are there",
    ),
    ({"environments": [{"name": "a", "places": [{"key": "k"}]}]}, "places[0].file: missing"),
    (
        {"environments": [{"name": "a", "after": ["b"], "follows": "x"}]},
        'environments[0].after: no environment "b" above',
    ),
    (
        {"environments": [{"name": "a", "follows": "x"}, {"name": "a", "follows": "y"}]},
        'environments[1].name: "a" is twice',
    ),
    ({"artefact": {}}, "artefact"),
    ({"schemas": {"repository": "x"}}, "schemas.places: missing"),
]


@pytest.mark.parametrize("part, told", WRONG, ids=[told for _, told in WRONG])
def test_what_is_wrong_is_reported_with_its_place(part: dict[str, object], told: str) -> None:
    """Each problem names its path."""
    problems = Problems()
    read_promotion({**WHOLE, **part}, problems)
    assert any(told in problem.text() for problem in problems.errors), problems.errors


def test_the_ready_made_one_has_every_place_of_the_instructions() -> None:
    """Dashboards, the check of merge requests, the manager, Jenkins and Tekton, all after stage."""
    names = [each.name for each in ready_made().environments]
    assert names == ["stage", "dashboards", "pr-check", "manager", "jenkins", "tekton"]
    assert all(each.after == ("stage",) for each in ready_made().environments[1:])
