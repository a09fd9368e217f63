"""What cannot be staged is refused with its place and the reason."""

from typing import Any

import pytest

from tests.policies import author, body, spec, template
from tidegate.kinds.policies.core.lint import MAP_BYTES_MAX, check_change, check_policy
from tidegate.kinds.policies.core.revision import AuthorPolicy
from tidegate.model.problem import Problems

ROOT = ("policies", "web")
AT = "spec.policy-templates[0].objectDefinition"


def found(policy: AuthorPolicy, root: tuple[str, str] = ROOT) -> Problems:
    problems = Problems()
    check_policy(policy, problems, root)
    return problems


def test_an_ordinary_policy_can_be_staged() -> None:
    """Nothing is said of it."""
    problems = found(author())
    assert (problems.errors, problems.warnings) == ([], [])


@pytest.mark.parametrize(
    "policy, path, message",
    [
        (author(template(kind="OperatorPolicy")), f"{AT}.kind", "cannot say which revision"),
        (author(template(spec={})), f"{AT}.spec", "missing"),
        (author(template(), template()), "spec.policy-templates", '2 templates are called "web"'),
        (author(template("")), f"{AT}.metadata.name", "missing"),
        (
            author(template(spec=body("{{hub .ManagedClusterName hub}}"))),
            f"{AT}.spec.object-templates[0].objectDefinition.data.value",
            "a hub template inside a revision is not resolved",
        ),
        (
            author(template(spec=body("$ocm_encrypted:abc"))),
            f"{AT}.spec.object-templates[0].objectDefinition.data.value",
            "good for one cluster only",
        ),
        (author(template(spec=body(customMessage="x"))), f"{AT}.spec.customMessage", "not an obj"),
        (author(template(spec=body("x" * MAP_BYTES_MAX))), "spec", "a revision takes"),
    ],
)
def test_what_cannot_be_staged_is_refused(policy: AuthorPolicy, path: str, message: str) -> None:
    """Each with its place."""
    errors = found(policy).errors
    assert [each.path for each in errors] == [path]
    assert message in errors[0].message


def test_a_policy_without_templates_is_refused() -> None:
    """There is nothing to stage."""
    empty = AuthorPolicy("web-source", "web", {"disabled": False, "policy-templates": []})
    assert [each.path for each in found(empty).errors] == ["spec.policy-templates"]


def test_names_of_replicas_have_63_characters_at_most() -> None:
    """63 are taken, 64 are refused."""
    assert not found(author(), ("policies", "w" * 54)).errors
    assert [each.path for each in found(author(), ("policies", "w" * 55)).errors] == [
        "metadata.name"
    ]


def test_content_of_a_hundred_thousand_levels_is_refused() -> None:
    """And is not looked into to its end."""
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    assert "deeper than" in found(author(template(spec=body(more=deep)))).errors[0].message


def test_pruning_is_warned_of() -> None:
    """A revision that moves an object deletes the old one, whatever becomes of the new one."""
    problems = found(author(template(spec=body(pruneObjectBehavior="DeleteIfCreated"))))
    assert not problems.errors
    assert [each.path for each in problems.warnings] == [f"{AT}.spec.pruneObjectBehavior"]


def test_dependencies_are_warned_of() -> None:
    """One that breaks deletes the objects."""
    problems = found(author(dependencies=[{"name": "x"}]))
    assert [each.path for each in problems.warnings] == ["spec.dependencies"]


@pytest.mark.parametrize(
    "after, path",
    [
        (spec(template(spec=body("2"))), None),
        (spec(template(), template("more")), "spec.policy-templates"),
        (spec(template("other")), f"{AT}.metadata.name"),
        (spec(remediationAction="inform"), "spec.remediationAction"),
        (spec(disabled=True), "spec.disabled"),
        (spec({**template(), "ignorePending": True}), "spec.policy-templates[0].ignorePending"),
    ],
)
def test_only_the_spec_of_templates_may_change(after: dict[str, Any], path: str | None) -> None:
    """Anything else is in the root, and would reach every cluster at once."""
    problems = Problems()
    check_change(spec(), after, problems)
    assert [each.path for each in problems.errors] == ([] if path is None else [path])
