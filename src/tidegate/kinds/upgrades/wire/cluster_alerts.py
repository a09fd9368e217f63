"""The alerts of an organisation's clusters: one question, and what the answer says of each.

Clusters report their alerts as `alerts`, and each has `_id`, its external id. Whose it is
stands in another series, `ocm_subscription`, so the two are joined there and not here. A cluster
for which the answer has nothing is well.
"""

from tidegate.documents.promql import literal
from tidegate.prometheus.answer import AnswerError, QueryResult

_CLUSTER, _ALERT = "_id", "alertname"


def alerts_query(org_id: str) -> str:
    """What is asked: the critical alerts that fire now."""
    firing = 'alerts{alertstate="firing", severity="critical"}'
    owned = f"max(ocm_subscription{{organization={literal(org_id)}}}) by ({_CLUSTER}, organization)"
    return f"{firing} * on ({_CLUSTER}) group_left(organization) {owned}"


def alerts_of(reading: QueryResult) -> dict[str, tuple[str, ...]]:
    """The names of alerts by cluster; AnswerError if some may be missing, or have no cluster."""
    if reading.warnings:
        raise AnswerError(f"part of its answer may be missing: {reading.warnings[0]}")
    found: dict[str, set[str]] = {}
    for series in reading.series:
        cluster, alert = series.labels.get(_CLUSTER, ""), series.labels.get(_ALERT, "")
        if not cluster or not alert:
            missing = _ALERT if cluster else _CLUSTER
            raise AnswerError(f"it tells of an alert without {missing}")
        found.setdefault(cluster, set()).add(alert)
    return {cluster: tuple(sorted(found[cluster])) for cluster in sorted(found)}
