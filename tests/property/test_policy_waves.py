"""No cluster is believed to be enforced by what it said before."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.policies import body, spec, template
from tidegate.kinds.policies.core.compliance import Replica, TemplateReport
from tidegate.kinds.policies.core.waves import (
    APART,
    UNKNOWN,
    WaveGrant,
    content_of,
    enforced,
    grant_note,
    informed,
    newest_entry,
    read_grant,
    return_left,
    taken_back,
    wave_report,
)
from tidegate.model.target import Status

MOMENTS = st.integers(min_value=0, max_value=2**62)
CONTENTS = st.from_regex(r"[0-9a-f]{12}", fullmatch=True)
GRANTS = st.builds(WaveGrant, CONTENTS, MOMENTS)
TEMPLATES = ("a", "b")
SPEC: dict[str, Any] = spec(*(template(name, body()) for name in TEMPLATES))
REPORTS = st.builds(
    TemplateReport,
    st.sampled_from(TEMPLATES),
    st.sampled_from(("", "Compliant", "NonCompliant", "Pending")),
    st.just("said"),
    MOMENTS,
    st.integers(min_value=0, max_value=10),
)
REPLICAS = st.none() | st.builds(
    Replica,
    st.just("m1"),
    st.lists(REPORTS, max_size=3).map(tuple),
    st.sampled_from(("", "no such ConfigMap")),
    st.booleans(),
)
PARTS = st.dictionaries(
    st.sampled_from(("web", "db")), REPLICAS.map(lambda each: (SPEC, each)), min_size=1
)


@given(GRANTS, st.booleans())
def test_a_grant_is_kept_as_it_is(grant: WaveGrant, back: bool) -> None:
    """What a decision notes is what is read of it."""
    assert read_grant(grant_note(grant, back=back)) == grant


@given(st.text(max_size=60))
def test_any_note_of_others_is_read_as_nothing_known(note: str) -> None:
    """And never raises."""
    assert read_grant(f"{note}!") == UNKNOWN


@given(GRANTS, PARTS, st.sampled_from(("", "its lease is old")))
def test_a_success_is_one_of_enforcement(grant: WaveGrant, parts: Any, away: str) -> None:
    """All replicas are enforced, all templates compliant, and all of it was said since."""
    found = wave_report("m1", grant.content, grant, parts, unreachable=away)
    assert found.revision == enforced(grant.content)
    assert found.status in (Status.Progressing, Status.Succeeded, Status.Failed)
    if found.status is Status.Succeeded:
        assert not away
        for _, replica in parts.values():
            assert replica is not None
            assert replica.enforced
            said = {each.template: each for each in replica.reports}
            assert set(said) == set(TEMPLATES)
            assert all(each.compliant == "Compliant" for each in said.values())
            fresh = [each.at > grant.after + APART for each in said.values()]
            assert all(fresh) or (not grant.after and min(e.entries for e in said.values()) > 1)
    else:
        assert found.detail


@given(CONTENTS, PARTS)
def test_what_was_said_before_a_decision_proves_nothing(content: str, parts: Any) -> None:
    """A grant that is made now is not proved by anything that is there now."""
    newest = newest_entry(replica for _, replica in parts.values())
    if newest:
        grant = WaveGrant(content, newest)
        assert wave_report("m1", content, grant, parts).status is not Status.Succeeded


@given(GRANTS, PARTS)
def test_what_was_said_before_it_was_taken_back_proves_no_return(grant: Any, parts: Any) -> None:
    """Unless its agent was never known to have it enforced."""
    newest = newest_entry(replica for _, replica in parts.values())
    back = taken_back(grant, newest)
    there = all(replica is not None for _, replica in parts.values())
    if back.after and there:
        assert return_left(parts, back)
        report = wave_report("m1", grant.content, None, parts, back=back)
        assert (report.status, report.revision) == (Status.Progressing, informed(grant.content))


@given(st.permutations(["a", "b", "c"]))
def test_content_is_one_whatever_its_order(names: list[str]) -> None:
    """And another policy, or another spec, is another content."""
    specs = {name: spec(template(name)) for name in names}
    assert content_of(specs) == content_of(dict(sorted(specs.items())))
    assert content_of(specs) != content_of({**specs, "d": spec()})
    assert content_of(specs) != content_of({**specs, "a": spec(template("a", body("2")))})
