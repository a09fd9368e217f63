"""A simulated OpenShift Cluster Manager answers whatever it is asked, and keeps its rules."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.test_simulated_ocm import ACCOUNTS, ADDONS, CLUSTERS, LOGS, world
from tidegate.kinds.upgrades.ocm.simulated.answers import OcmCall
from tidegate.kinds.upgrades.ocm.simulated.requests import answer
from tidegate.kinds.upgrades.ocm.simulated.start import found
from tidegate.kinds.upgrades.ocm.simulated.world_doc import read_world
from tidegate.model.time import SECOND, Instant, format_instant

WORLD = read_world(world())
A, H = f"{CLUSTERS}/a-id", f"{CLUSTERS}/h-id"
PLACES = (
    f"{A}/upgrade_policies",
    f"{H}/control_plane/upgrade_policies",
    f"{H}/node_pools/np/upgrade_policies",
    f"{ADDONS}/clusters/h-id/upgrade_plans",
    f"{H}/addon_upgrade_policies",
)
_START = WORLD.now
_TIMES = st.integers(-600, 7200).map(lambda s: format_instant(_START + s * SECOND))
_ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just([]), st.just({})
)


def _field(*values: Any) -> st.SearchStrategy[Any]:
    """Mostly something that makes sense."""
    return st.one_of(st.sampled_from(values), st.sampled_from(values), _ODD)


def _call(method: str, path: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A call with fields of which some are odd, some are missing, or with another body at all."""
    body = st.fixed_dictionaries(fields)
    fewer = st.fixed_dictionaries({}, optional=fields)
    return st.tuples(st.just(method), st.just(path), st.one_of(body, body, fewer, _ODD))


_POLICY = {
    "version": _field("4.16.4", "4.16.4", "4.17.0", "x"),
    "schedule_type": _field("manual", "manual", "automatic"),
    "schedule": _field("0 9 * * 1", "never"),
    "next_run": st.one_of(_TIMES, _TIMES, _ODD),
}
_PLAN = {"addon_id": _field("log"), "version": _field("1.1.0"), "next_run": _TIMES}
_LABEL = f"{ACCOUNTS}/subscriptions/a-sub/labels"
WRITES = st.one_of(
    *(_call("POST", place, **_POLICY) for place in PLACES[:3]),
    *(_call("POST", place, **_PLAN, type=_field("manual")) for place in PLACES[3:]),
    *(_call("DELETE", f"{place}/made-20") for place in PLACES),
    _call("POST", f"{A}/gate_agreements", version_gate=_field({"id": "g"}, {"id": []})),
    _call("PATCH", A, channel=_field("stable-4.17", "no")),
    _call("POST", f"{CLUSTERS}/nobody/upgrade_policies", **_POLICY),
    _call("POST", _LABEL, key=_field("a.b", "-"), value=_field("x")),
    _call("PATCH", f"{_LABEL}/sre-capabilities.aus.soak-days", value=_field("x")),
    _call("DELETE", f"{_LABEL}/a.b"),
    _call(
        "POST",
        f"{LOGS}/cluster_logs",
        cluster_uuid=_field("a-uuid"),
        service_name=_field("s"),
        summary=_field("x"),
        severity=_field("Low", "Loud"),
    ),
)
READS = st.tuples(
    st.just("GET"),
    st.sampled_from((*PLACES, A, CLUSTERS, f"{ACCOUNTS}/labels", f"{LOGS}/clusters/cluster_logs")),
    st.none(),
)
QUERIES = st.dictionaries(
    st.sampled_from(["search", "order", "page", "size"]),
    st.one_of(st.text("'()=a ,%0", max_size=8), st.sampled_from(["id", "2", "name desc"])),
    max_size=2,
)
CALLS = st.tuples(
    st.one_of(WRITES, READS),
    QUERIES,
    st.sampled_from([0, 0, 60, 3600]),
    st.sampled_from(["", "o1"]),
)


@settings(max_examples=100)
@given(st.lists(CALLS, min_size=10, max_size=30))
def test_anything_that_is_asked_gets_an_answer(calls: list[Any]) -> None:
    """Done, or refused with a code and a reason; whatever is odd about the question."""
    state, now = found(WORLD), _START
    for (method, path, body), query, wait_s, org in calls:
        now = Instant(now + wait_s * SECOND)
        got = answer(state, OcmCall(method, path, query, body, org), now)
        assert got.status in (200, 201, 204, 400, 404, 409)
        document = msgspec.json.decode(got.body) if got.body else {}
        if got.status >= 400:
            assert document["kind"] == "Error"
            assert document["code"]
            assert document["reason"]


_TRIES = st.tuples(
    st.sampled_from(PLACES[:3]), st.integers(290, 310), st.sampled_from([0, 60, 7200])
)


@settings(max_examples=100)
@given(st.lists(_TRIES, min_size=2, max_size=12))
def test_no_place_has_two_policies_and_none_is_made_too_late(tries: list[Any]) -> None:
    """Five minutes ahead at least, and one at a time, however often it is asked."""
    state, now = found(WORLD), _START
    for path, ahead_s, wait_s in tries:
        now = Instant(now + wait_s * SECOND)
        next_run = format_instant(now + ahead_s * SECOND)
        body = {"version": "4.16.4", "schedule_type": "manual", "next_run": next_run}
        there = len(state.collections[path])
        status = answer(state, OcmCall("POST", path, {}, body), now).status
        assert len(state.collections[path]) <= 1
        if status == 201:
            assert ahead_s >= 300
        elif there == 0 and ahead_s >= 300 and path == PLACES[0]:
            assert state.cluster("a-id")["version"]["raw_id"] == "4.16.4"
