"""What happens to CronJobs: a Job whenever one is due, and no more old ones than are to be kept."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tidegate.kubernetes.port import JOB
from tidegate.kubernetes.simulated.api import Key, SimulatedApi, StoredObject
from tidegate.kubernetes.simulated.fields import unflatten
from tidegate.kubernetes.simulated.life.cron import Schedule, parse_schedule
from tidegate.kubernetes.simulated.life.jobs import verdict_of
from tidegate.model.time import Instant, format_second

_MINUTE = 60 * 1_000_000_000
_KEPT_DEFAULT = {"Complete": 3, "Failed": 1}
_KEPT_FIELDS = {"Complete": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}


class CronJobs:
    """The CronJobs of one cluster, on a clock that runs as fast as the simulation."""

    def __init__(self, api: SimulatedApi, origin: Instant, speed: int) -> None:
        self._api = api
        self._origin = origin
        self._speed = speed
        # The schedule as it is written, and when it is due by the fast clock.
        self._due: dict[Key, tuple[str, Instant | None]] = {}
        # By the real clock, as everything that is written.
        self._last: dict[Key, Instant] = {}

    def settle(self, key: Key, record: StoredObject, now: Instant) -> Instant | None:
        """Do what is due; when to look again."""
        spec = unflatten(record.fields).get("spec") or {}
        text, schedule = str(spec.get("schedule") or ""), None
        with suppress(ValueError):
            schedule = parse_schedule(text)
        if schedule is None:
            return None
        due = self._due_of(key, text, schedule, now)
        if due is not None and self._fast(now) >= due:
            self._due[key] = text, schedule.after(self._fast(now))
            if not spec.get("suspend"):
                self._begin(key, record, spec, due, now)
        self._forget_old(key, spec)
        self._api.put_status(key, self._status(key))
        _, due = self._due[key]
        return None if due is None else self._slow(due)

    def forget(self, key: Key) -> None:
        """It was deleted; its Jobs go with it."""
        self._due.pop(key, None)
        self._last.pop(key, None)
        for job, _ in self._jobs(key):
            self._api.remove(job)

    def _due_of(self, key: Key, text: str, schedule: Schedule, now: Instant) -> Instant | None:
        known = self._due.get(key)
        if known is None or known[0] != text:
            self._due[key] = text, schedule.after(self._fast(now))
        return self._due[key][1]

    def _begin(
        self, key: Key, record: StoredObject, spec: Mapping[str, Any], due: Instant, now: Instant
    ) -> None:
        active = [job for job, status in self._jobs(key) if not verdict_of(status)]
        manner = spec.get("concurrencyPolicy")
        if active and manner == "Forbid":
            return
        for job in active if manner == "Replace" else ():
            self._api.remove(job)
        self._last[key] = now
        template = spec.get("jobTemplate") or {}
        made = template.get("metadata") or {}
        name = f"{key[2]}-{due // _MINUTE}"
        self._api.put(
            (JOB, key[1], name),
            {
                "apiVersion": JOB.api_version,
                "kind": JOB.name,
                "metadata": {
                    **{part: made[part] for part in ("labels", "annotations") if made.get(part)},
                    "name": name,
                    "namespace": key[1],
                    "ownerReferences": [_reference(key, record)],
                },
                "spec": template.get("spec") or {},
            },
        )

    def _forget_old(self, key: Key, spec: Mapping[str, Any]) -> None:
        for verdict, default in _KEPT_DEFAULT.items():
            limit = spec.get(_KEPT_FIELDS[verdict])
            kept = default if limit is None else int(limit)
            ended = [job for job, status in self._jobs(key) if verdict_of(status) == verdict]
            for job in ended[: max(0, len(ended) - kept)]:
                self._api.remove(job)

    def _status(self, key: Key) -> dict[str, Any]:
        jobs = self._jobs(key)
        status: dict[str, Any] = {}
        active = [
            {"apiVersion": JOB.api_version, "kind": JOB.name, "namespace": job[1], "name": job[2]}
            for job, found in jobs
            if not verdict_of(found)
        ]
        if active:
            status["active"] = active
        if key in self._last:
            status["lastScheduleTime"] = format_second(self._last[key])
        ended = [found["completionTime"] for _, found in jobs if "completionTime" in found]
        before = self._written(key).get("lastSuccessfulTime")
        if ended or before:
            status["lastSuccessfulTime"] = max([*ended, *([before] if before else [])])
        return status

    def _written(self, key: Key) -> Mapping[str, Any]:
        record = self._api.records.get(key)
        return {} if record is None else unflatten(record.fields).get("status") or {}

    def _jobs(self, key: Key) -> list[tuple[Key, Mapping[str, Any]]]:
        """Its Jobs, oldest first, and their results."""
        found: list[tuple[int, Key, Mapping[str, Any]]] = []
        for job, record in self._api.listed(JOB, key[1]):
            document = unflatten(record.fields)
            owners = document["metadata"].get("ownerReferences") or ()
            if any((each["kind"], each["name"]) == (key[0].name, key[2]) for each in owners):
                number = job[2].rpartition("-")[2]
                found.append((int(number), job, document.get("status") or {}))
        return [(job, status) for _, job, status in sorted(found, key=lambda each: each[0])]

    def _fast(self, now: Instant) -> Instant:
        return Instant(self._origin + (now - self._origin) * self._speed)

    def _slow(self, fast: Instant) -> Instant:
        return Instant(self._origin - (self._origin - fast) // self._speed)


def _reference(key: Key, record: StoredObject) -> dict[str, Any]:
    return {
        "apiVersion": key[0].api_version,
        "kind": key[0].name,
        "name": key[2],
        "uid": record.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
