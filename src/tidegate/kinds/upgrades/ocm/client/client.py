"""OpenShift Cluster Manager, to read and to write; nothing is ever made twice.

What a request makes is looked for before it is asked for again: after a lost answer, and after a
refusal too, for what is in the way may be ours, made by a try that seemed lost or by a worker that
was stopped before it could record it.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar
from urllib.parse import quote

import msgspec

from tidegate.kinds.upgrades.core import requests
from tidegate.kinds.upgrades.ocm.client.pages import listed
from tidegate.kinds.upgrades.ocm.client.reader import (
    ACCOUNTS,
    LOGS,
    ReadingClient,
    escaped,
    policies_of,
)
from tidegate.kinds.upgrades.ocm.documents import (
    AddonPlan,
    GateAgreement,
    Label,
    LogEntry,
    OcmCluster,
    OcmPolicy,
    ServiceLog,
)
from tidegate.kinds.upgrades.ocm.port import LabelOwner, LabelType, OcmRefusedError, Upgradable
from tidegate.kinds.upgrades.ocm.search import ADDRESS_MAX, at_least, both, equals, one_of
from tidegate.model.time import Instant, format_instant, parse_instant
from tidegate.net.json_request import once

T = TypeVar("T")

_OWNERS = {LabelType.SUBSCRIPTION: "subscriptions", LabelType.ORGANIZATION: "organizations"}
# What says that something stands in the way, which may be ours.
_IN_THE_WAY = (400, 409)


class ClusterManagerClient(ReadingClient):
    """One environment of OpenShift Cluster Manager."""

    async def create_policy(self, of: Upgradable, version: str, next_run: str) -> OcmPolicy:
        """Have it upgraded at a moment; the same again is the same policy."""
        request = requests.create_ocm_policy(
            of.cluster, version, next_run, hosted=of.hosted, pool=of.pool
        )

        async def find() -> OcmPolicy | None:
            # Its state does not matter here, so it is not asked for.
            there = await listed(self.asking, policies_of(of), OcmPolicy, {})
            return next(
                (
                    each
                    for each in there.items
                    if each.version == version
                    and each.schedule_type == requests.MANUAL
                    and _same_moment(each.next_run, next_run)
                ),
                None,
            )

        return await self._once(lambda: self._send(request, OcmPolicy), find)

    async def delete_policy(self, of: Upgradable, policy: str) -> None:
        """Call an upgrade off; one that is gone is gone."""
        await self.asking.delete(f"{policies_of(of)}/{quote(policy, safe='')}")

    async def create_addon_plan(
        self, cluster: str, addon: str, version: str, next_run: str
    ) -> AddonPlan:
        """Have an add-on upgraded; the same again is the same plan."""
        request = requests.create_addon_plan(
            cluster, addon, version, next_run, service=self.addons_service
        )

        async def find() -> AddonPlan | None:
            there = await listed(self.asking, self.plans_of(cluster), AddonPlan, {})
            fits = (
                each
                for each in there.items
                if (each.addon_id, each.version) == (addon, version)
                and "automatic" not in (each.type, each.schedule_type)
            )
            return next(fits, None)

        return await self._once(lambda: self._send(request, AddonPlan), find)

    async def delete_addon_plan(self, cluster: str, plan: str) -> None:
        """Call an upgrade of an add-on off; one that is gone is gone."""
        await self.asking.delete(f"{self.plans_of(cluster)}/{quote(plan, safe='')}")

    async def agree(self, cluster: str, gate: str) -> GateAgreement:
        """Agree to a gate for a cluster; once."""
        request = requests.agree_to_gate(cluster, gate)

        async def find() -> GateAgreement | None:
            there = await self.agreements(cluster)
            return next((each for each in there.items if each.version_gate.id == gate), None)

        return await self._once(lambda: self._send(request, GateAgreement), find)

    async def switch_channel(self, cluster: str, channel: str) -> OcmCluster:
        """Put a cluster on a channel."""
        request = requests.switch_channel(cluster, channel)
        path = escaped(request.segments)
        return await self.asking.send(request.method, path, request.body, OcmCluster)

    async def tell(self, entry: LogEntry, since: Instant) -> ServiceLog | None:
        """Write a service log, unless one of its texts was written since a moment; None: it was."""
        if await self._told(entry, since) is not None:
            return None
        request = requests.post_service_log(
            entry.cluster_uuid,
            entry.summary,
            entry.description,
            entry.service_name,
            entry.severity,
        )
        return await self._once(
            lambda: self._send(request, ServiceLog), lambda: self._told(entry, since)
        )

    async def set_label(self, owner: LabelOwner, key: str, value: str) -> Label:
        """Make a label what it should be."""
        path = _labels_of(owner)
        one = f"{path}/{quote(key, safe='')}"
        body = requests.label_body(key, value)

        async def find() -> Label | None:
            answer = await self.asking.ask("PATCH", one, body=body)
            if answer.status == 404:
                return None
            return self.asking.read(answer, Label, f"PATCH {one}")

        found = await find()
        if found is not None:
            return found
        return await self._once(
            lambda: self.asking.send("POST", path, body, Label, again=False), find
        )

    async def delete_label(self, owner: LabelOwner, key: str) -> None:
        """Take a label away; one that is gone is gone."""
        await self.asking.delete(f"{_labels_of(owner)}/{quote(key, safe='')}")

    async def _told(self, entry: LogEntry, since: Instant) -> ServiceLog | None:
        """The same service log, if it was written since a moment."""
        path = f"{LOGS}/clusters/cluster_logs"
        created = at_least("created_at", format_instant(since).replace("Z", "+00:00"))
        terms = [
            created,
            one_of("description", entry.texts),
            equals("service_name", entry.service_name),
            equals("severity", entry.severity),
            equals("summary", entry.summary),
        ]
        query = {"cluster_uuid": entry.cluster_uuid, "search": both(*terms)}
        # A long text does not fit an address: texts are compared here instead.
        if len(self.asking.address(path, query)) + 100 > ADDRESS_MAX:
            query["search"] = both(created, equals("service_name", entry.service_name))
        reading = await listed(self.asking, path, ServiceLog, query)
        return next((each for each in reading.items if _same_text(each, entry)), None)

    async def _send(self, request: requests.OcmRequest, kind: type[T]) -> T:
        """Send a request once; after a lost answer the caller first looks for what it made."""
        path = escaped(request.segments)
        return await self.asking.send(request.method, path, request.body, kind, again=False)

    async def _once(
        self, make: Callable[[], Awaitable[T]], find: Callable[[], Awaitable[T | None]]
    ) -> T:
        """What a request makes, made once; one that is in the way is the one."""

        async def made() -> T:
            try:
                return await make()
            except OcmRefusedError as error:
                if error.status in _IN_THE_WAY and (found := await find()) is not None:
                    return found
                raise

        return await once(made, find, self.asking.limits, self.asking.host)


def _labels_of(owner: LabelOwner) -> str:
    return f"{ACCOUNTS}/{_OWNERS[owner.type]}/{quote(owner.id, safe='')}/labels"


def _same_moment(one: str, other: str) -> bool:
    """Whether two times are one, however they are written."""
    try:
        return parse_instant(one) == parse_instant(other)
    except ValueError:
        return one == other


def _same_text(log: ServiceLog, entry: LogEntry) -> bool:
    """Whether a service log has the title of another, and one of its texts."""
    same = ("summary", "service_name", "severity")
    there, would = msgspec.structs.asdict(log), msgspec.structs.asdict(entry)
    return log.description in entry.texts and all(there[name] == would[name] for name in same)
