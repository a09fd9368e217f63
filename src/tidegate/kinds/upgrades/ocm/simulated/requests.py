"""One request to a state at a moment: its effect, and its answer."""

from collections.abc import Iterable
from typing import Any

from tidegate.kinds.upgrades.ocm.simulated.answers import (
    CallRefusedError,
    OcmAnswer,
    OcmCall,
    Shape,
    json_answer,
    looked_up,
    page_of,
    refusal,
)
from tidegate.kinds.upgrades.ocm.simulated.rules import WRITES
from tidegate.kinds.upgrades.ocm.simulated.state import (
    ACCOUNTS,
    ADDONS,
    ALL_CLUSTERS,
    CLUSTER_LOGS,
    LABELS,
    LOGS,
    ORGANIZATIONS,
    SUBSCRIPTIONS,
    Json,
    OcmState,
)
from tidegate.kinds.upgrades.ocm.simulated.upgrades import live
from tidegate.model.json_text import decode_json
from tidegate.model.time import Instant

_LOGS_OF = f"{LOGS}/clusters/cluster_logs"
# What lists are called, by the last part of their path.
_LISTS = {
    "labels": "Label",
    "subscriptions": "Subscription",
    "organizations": "Organization",
    "clusters": "Cluster",
    "versions": "Version",
    "version_gates": "VersionGate",
    "gate_agreements": "VersionGateAgreement",
    "node_pools": "NodePool",
    "addons": "AddOn",
    "upgrade_policies": "UpgradePolicy",
    "addon_upgrade_policies": "AddonUpgradePolicy",
    "upgrade_plans": "UpgradePlan",
    "cluster_logs": "ClusterLog",
}
# What belongs to what: a path, and the collection in which its next part is looked up.
_BELOW = (
    (ALL_CLUSTERS, ALL_CLUSTERS),
    (f"{ADDONS}/clusters", ALL_CLUSTERS),
    (SUBSCRIPTIONS, SUBSCRIPTIONS),
    (ORGANIZATIONS, ORGANIZATIONS),
)
_WITHOUT_STATE = ("UpgradePolicy", "AddonUpgradePolicy")


def answer(state: OcmState, request: OcmCall, now: Instant) -> OcmAnswer:
    """Let time pass, then do what is asked, or refuse it in words."""
    live(state, now)
    try:
        if request.method == "GET":
            return json_answer(_read(state, request))
        return _write(state, request)
    except CallRefusedError as error:
        if request.method != "GET":
            state.note(request.method, request.path, request.body, error.status)
        return refusal(request.path, error.status, error.reason)


def _write(state: OcmState, request: OcmCall) -> OcmAnswer:
    if request.method != "DELETE" and not isinstance(request.body, dict):
        raise CallRefusedError(400, "The body of the request is not a JSON object")
    for method, pattern, rule in WRITES:
        match = pattern.fullmatch(request.path)
        if match is None or method != request.method:
            continue
        _need_seen(state, request, request.path)
        try:
            status, document = rule(state, request.path, match.groups(), request.body or {})
        except KeyError:
            raise _missing(request.path) from None
        state.note(request.method, request.path, request.body, status)
        return OcmAnswer(status) if document is None else json_answer(_shown(document), status)
    raise CallRefusedError(404, f"{request.method} '{request.path}' is not simulated")


def _read(state: OcmState, request: OcmCall) -> Json:
    path = request.path
    if path == f"{ACCOUNTS}/current_account":
        return _account(state, request.org)
    _need_seen(state, request, path)
    if path == _LOGS_OF:
        about = (request.query.get("cluster_uuid"), request.query.get("cluster_id"))
        return _list(state, request, CLUSTER_LOGS, about)
    if path in state.collections:
        return _list(state, request, path)
    above, _, key = path.rpartition("/")
    if key == "state":
        below, _, key = above.rpartition("/")
        policy: Json | None = state.collections.get(below, {}).get(key)
        if policy is None or "state" not in policy:
            raise _missing(path)
        return {**policy["state"], "href": path}
    if "/labels/" in path:
        above, _, key = path.partition("/labels/")
        above += "/labels"
    document = state.collections.get(above, {}).get(key)
    if document is None or not _sees(state, request.org, above, document):
        raise _missing(path)
    return _with_labels(state, request, document) if above == SUBSCRIPTIONS else (_shown(document))


def _list(state: OcmState, request: OcmCall, path: str, about: tuple[str | None, ...] = ()) -> Json:
    query = request.query
    search, order = query.get("search", ""), query.get("order") or query.get("orderBy") or ""

    def look() -> Iterable[Json]:
        documents: Iterable[Json] = state.collections[path].values()
        if about:
            uuid, cluster = about
            documents = (
                each
                for each in documents
                if uuid in (None, each.get("cluster_uuid"))
                and cluster in (None, each.get("cluster_id"))
            )
        if request.org:
            documents = [each for each in documents if _sees(state, request.org, path, each)]
        return looked_up(documents, search, order)

    found = state.found((path, *about, search, order, request.org), look)
    kind = _LISTS.get(path.rpartition("/")[2], "")
    return page_of(kind, found, query, _shape(state, request, path))


def _shape(state: OcmState, request: OcmCall, path: str) -> Shape:
    """How an item is shown in a list."""
    if path == SUBSCRIPTIONS:
        return lambda each: _with_labels(state, request, each)
    if path == ALL_CLUSTERS:
        return _without_channels
    return _shown


def _shown(document: Json) -> Json:
    """A document as its GET shows it: the state of a classic policy has an address of its own."""
    if document.get("kind") in _WITHOUT_STATE:
        return {name: value for name, value in document.items() if name != "state"}
    return document


def _without_channels(cluster: Json) -> Json:
    """A cluster in a list: its available channels are only in its own document."""
    version = {k: v for k, v in cluster["version"].items() if k != "available_channels"}
    return {**cluster, "version": version}


def _with_labels(state: OcmState, request: OcmCall, subscription: Json) -> Json:
    if request.query.get("fetchLabels") != "true":
        return subscription
    labels = state.collections[f"{SUBSCRIPTIONS}/{subscription['id']}/labels"]
    return {**subscription, "labels": list(labels.values())}


def _account(state: OcmState, org: str) -> Json:
    organization = state.collections[ORGANIZATIONS].get(org, {"kind": "Organization", "id": ""})
    return {
        "kind": "Account",
        "id": f"account-{org}",
        "href": f"{ACCOUNTS}/accounts/account-{org}",
        "username": f"user-{org}" if org else "service-account-tidegate",
        "organization": organization,
    }


def _need_seen(state: OcmState, request: OcmCall, path: str) -> None:
    """What is below a document that is not visible is not visible either."""
    if not request.org:
        return
    for above, among in _BELOW:
        if not path.startswith(f"{above}/"):
            continue
        key = path.removeprefix(f"{above}/").split("/")[0]
        document = state.collections[among].get(key)
        if document is None or not _sees(state, request.org, among, document):
            raise _missing(path)
    if path == CLUSTER_LOGS and isinstance(request.body, dict):
        uuid = request.body.get("cluster_uuid")
        for cluster in state.collections[ALL_CLUSTERS].values():
            if cluster.get("external_id") == uuid and not _sees(
                state, request.org, ALL_CLUSTERS, cluster
            ):
                raise _missing(path)


def _sees(state: OcmState, org: str, path: str, document: Json) -> bool:
    """Whether an organisation sees a document of a collection."""
    if not org:
        return True
    if path == ORGANIZATIONS:
        return bool(document["id"] == org)
    if path == CLUSTER_LOGS:
        document, path = state.cluster(document["cluster_id"]), ALL_CLUSTERS
    subscription: Any = document
    if path == ALL_CLUSTERS:
        subscription = document.get("subscription", {}).get("id")
    elif path == LABELS:
        if "organization_id" in document:
            return bool(document["organization_id"] == org)
        subscription = document.get("subscription_id")
    elif path != SUBSCRIPTIONS:
        return True
    if isinstance(subscription, str):
        subscription = state.collections[SUBSCRIPTIONS].get(subscription, {})
    return bool(subscription.get("organization_id") == org)


def _missing(path: str) -> CallRefusedError:
    return CallRefusedError(404, f"'{path}' not found")


def read(state: OcmState, request: OcmCall, now: Instant) -> Any:
    """The body of an answer, decoded, for callers in the same process; None: there is none."""
    body = answer(state, request, now).body
    return decode_json(body) if body else None
