"""Revisions of policies: nothing of an author's policy is lost on the way to a hub and back."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.policies import spec, template
from tidegate.kinds.policies.core.revision import (
    read_revision,
    revision_data,
    revision_object,
    revision_of,
    spec_of,
    stamp_in,
    stamped,
)

_TEXTS = st.text(max_size=12) | st.sampled_from(["a\u2028b", "\x85", "{{ .DefaultMessage }}", "é"])
_LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXTS
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3)
)
_MESSAGES = st.fixed_dictionaries({}, optional={"compliant": _TEXTS, "noncompliant": _TEXTS})
_BODIES = st.dictionaries(_TEXTS, _VALUES, min_size=1, max_size=4).flatmap(
    lambda fields: st.one_of(
        st.just(fields), _MESSAGES.map(lambda own: {**fields, "customMessage": own})
    )
)
_SPECS = st.lists(_BODIES, min_size=1, max_size=3).map(
    lambda bodies: spec(*(template(f"t{at}", each) for at, each in enumerate(bodies)))
)


@given(_SPECS)
def test_a_revision_gives_the_authors_policy_back(written: dict[str, Any]) -> None:
    """Derived, kept in a ConfigMap, read, and handed back, it is what the author wrote."""
    revision = revision_of(written)
    kept = read_revision(revision_object("policies", "web", revision))
    assert spec_of(kept) == written
    assert kept == revision


@given(_SPECS, st.randoms(use_true_random=False))
def test_the_hash_depends_on_content_only(written: dict[str, Any], random: Any) -> None:
    """The order in which fields are written is not content."""
    assert revision_of(_shuffled(written, random)).name == revision_of(written).name


@given(_SPECS, _SPECS)
def test_other_content_is_another_revision(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two policies share a revision only if they are equal, types included."""
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (revision_of(one).name == revision_of(other).name) is same


@given(_SPECS)
def test_every_template_is_one_line_that_json_and_yaml_read_alike(written: dict[str, Any]) -> None:
    """A hub puts the line into YAML: what ends a line there must not be in it."""
    revision = revision_of(written)
    data = revision_data(revision)
    for at, body in enumerate(revision.bodies):
        line = data[str(at)]
        assert not set(line) & set("\n\r\x85\u2028\u2029\ufeff\x7f")
        assert json.loads(line) == stamped(body, revision.name)


@given(_SPECS, _TEXTS)
def test_the_stamp_is_read_from_what_an_agent_says(written: dict[str, Any], said: str) -> None:
    """Both messages of every template name the revision; nothing else that is said can."""
    revision = revision_of(written)
    for body in revision.bodies:
        for message in stamped(body, revision.name)["customMessage"].values():
            for before in ("", "Compliant; ", "NonCompliant; "):
                assert stamp_in(before + message) == revision.name
    assert stamp_in(f"NonCompliant; violation - {said} [rev {revision.name}] ") is None


def _shuffled(value: Any, random: Any) -> Any:
    """The same fields in another order."""
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: _shuffled(value[key], random) for key in keys}
    return [_shuffled(each, random) for each in value] if isinstance(value, list) else value
