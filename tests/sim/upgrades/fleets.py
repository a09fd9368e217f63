"""Fleets from a seed: organisations, sectors, mutexes, limits, soak, schedules, pools, gates."""

import random
from typing import Any

from tests.sim.upgrades.ground import DAY, Gate, Terms
from tests.sim.upgrades.owners import SCHEDULES, ZONES
from tidegate.kinds.upgrades.core.service import Registration
from tidegate.kinds.upgrades.core.world import HealthCheck
from tidegate.model.time import Instant, format_instant, parse_instant

START = parse_instant("2026-03-02T06:00:00Z")
WORKLOADS = ("pay", "pay", "maps", "pay,maps")
MUTEXES = ("", "", "m1", "m1", "m2", "m1,m2")
# Those that fire often stand there several times: otherwise most of a story is waiting.
_SCHEDULES = (*SCHEDULES[:5], *SCHEDULES[:5], *SCHEDULES[:-1], SCHEDULES[-1])
BLOCKED = ("", "", "", "", r"^4\.16\.5$", r"4\.17\.", r"^4\.16\.4$,^4\.17\.1$")
_SECTORS: tuple[dict[str, str], ...] = (
    {},
    {},
    {"sector-deps.prod": "stage", "sector-deps.stage": ""},
    {"sector-deps.prod": "stage", "sector-deps.stage": "dev"},
    {"sector-deps.prod": "stage,dev", "sector-deps.stage": "dev"},
    {"sector-deps.prod": "empty", "sector-deps.empty": "stage"},
    {"sector-max-parallel-upgrades.prod": "1"},
)
LIMITS = ("", "", "1", "1", "2", "50%")
# Labels with a mistake, each seldom.
BAD: tuple[tuple[str, str], ...] = (
    ("soak-days", "two"),
    ("soak-days", "-1"),
    ("workloads", ","),
    ("schedule", "every day"),
    ("schedule", "0 0 31 2 *"),
    ("schedule-timezone", "Mars/Base"),
    ("blocked-versions", "["),
    ("blocked-versions", "(?=4)"),
    ("sector", "nowhere"),
)
BAD_OF_ORGS: tuple[tuple[str, str], ...] = (
    ("blocked-versions", "(?!4)"),
    ("sector-max-parallel-upgrades.prod", "many"),
    ("sector-max-parallel-upgrades.stage", "0"),
    ("sector-deps.stage", "prod"),
)
GATES = (
    Gate("g-ocp", "4.17", "api.openshift.com/gate-ocp"),
    Gate("g-sts", "4.17", "api.openshift.com/gate-sts"),
)


class Fleet:
    """What there is in the beginning."""

    def __init__(self, rng: random.Random, days: float) -> None:
        self._rng = rng
        self._days = days
        envs = rng.choice((("prod",), ("prod",), ("prod", "stage")))
        ids = [f"o{at}" for at in range(rng.choice((1, 2, 2, 3)))]
        self.envs = {each: rng.choice(envs) for each in ids}
        self.terms = {each: self._terms() for each in ids}
        # Those in which nothing waits for others: what fails there fails many at once.
        self.hasty = {each for each in ids if rng.random() < 0.25}
        self.versions = self._versions()
        self._sectors = {each: self._orders() for each in ids}
        self._inherit(ids)
        self.clusters = [one for org in ids for one in self._clusters(org)]

    def worlds(self) -> dict[str, dict[str, Any]]:
        """The document of each environment."""
        return {env: self._world(env) for env in sorted(set(self.envs.values()))}

    def registrations(self) -> dict[str, tuple[Registration, ...]]:
        """What is served, by environment."""
        found: dict[str, list[Registration]] = {}
        for org, env in self.envs.items():
            terms = self.terms[org]
            checks = (HealthCheck("telemeter", enforced=True),) if terms.enforced else ()
            found.setdefault(env, []).append(
                Registration(
                    id=org,
                    name=org,
                    environment=env,
                    health_checks=checks,
                    quarantine_after=terms.quarantine_after,
                    notice=terms.notice,
                )
            )
        return {env: tuple(some) for env, some in found.items()}

    def _world(self, env: str) -> dict[str, Any]:
        return {
            "now": format_instant(START),
            "orgs": [
                {"id": org, "name": org, "env": env, "labels": self._sectors[org]}
                for org, where in self.envs.items()
                if where == env
            ],
            "clusters": [each for each in self.clusters if self.envs[each["org"]] == env],
            "versions": self.versions,
            "gates": [
                {
                    "id": each.id,
                    "prefix": each.prefix,
                    "label": each.label,
                    "sts_only": each.label.endswith("sts"),
                }
                for each in GATES
            ],
            "outcomes": self._outcomes(env),
            "pace": {"takes": self._rng.choice(("40m", "90m", "3h")), "pool_takes": "50m"},
        }

    def _outcomes(self, env: str) -> list[dict[str, Any]]:
        """Now and then an upgrade of many fails, until a person sees to that."""
        orgs = [org for org, where in self.envs.items() if where == env]
        orgs = [org for org in orgs if org in self.hasty] or orgs
        if self._rng.random() < 0.5:
            return []
        version = self._rng.choice(("4.16.4", "4.16.5", "4.17.*"))
        return [{"clusters": f"{self._rng.choice(orgs)}-*", "versions": version, "fails": True}]

    def _terms(self) -> Terms:
        rng = self._rng
        return Terms(rng.random() < 0.3, rng.choice((0, 1, 1, 2)), rng.random() < 0.3)

    def _versions(self) -> list[dict[str, Any]]:
        """Those that are out, and those that come out as the story goes on."""
        later = {
            "4.16.4": 0.3,
            "4.16.5": self._days * 0.3,
            "4.17.1": self._days * 0.4,
            "4.17.2": self._days * 0.8,
        }
        found: list[dict[str, Any]] = [{"version": "4.16.2"}, {"version": "4.16.3"}]
        # By mistake it is on a channel for all.
        candidate = {"channels": ["candidate-4.17", "stable-4.17"], "version": "4.17.0-rc.1"}
        found.append({**candidate, "released_at": self._moment(self._days * 0.2)})
        for version, day in later.items():
            day = max(0.0, day + self._rng.uniform(-2, 2))
            found.append({"version": version, "released_at": self._moment(day)})
        return found

    def _moment(self, day: float) -> str:
        return format_instant(Instant(START + round(day * DAY / 10**9) * 10**9))

    def _orders(self) -> dict[str, str]:
        rng = self._rng
        labels = dict(rng.choice(_SECTORS))
        for sector in ("prod", "stage"):
            limit = rng.choice(LIMITS)
            if limit and f"sector-deps.{sector}" in labels:
                labels[f"sector-max-parallel-upgrades.{sector}"] = limit
        if rng.random() < 0.1:
            labels["blocked-versions"] = rng.choice(BLOCKED[4:])
        if rng.random() < 0.08:
            name, value = rng.choice(BAD_OF_ORGS)
            labels[name] = value
        return labels

    def _inherit(self, ids: list[str]) -> None:
        """Now and then one organisation goes by what another learnt; seldom without being let."""
        if len(ids) > 1 and self._rng.random() < 0.6:
            source, target = self._rng.sample(ids, 2)
            self._sectors[target]["version-data.inherit"] = source
            if self._rng.random() < 0.85:
                self._sectors[source]["version-data.publish"] = target

    def _clusters(self, org: str) -> list[dict[str, Any]]:
        count = self._rng.choice((2, 3, 4, 5))
        return [self._cluster(org, at) for at in range(count)]

    def _cluster(self, org: str, at: int) -> dict[str, Any]:
        rng = self._rng
        named = [
            name.partition(".")[2] for name in self._sectors[org] if name.startswith("sector-")
        ]
        version = rng.choice(("4.16.2", "4.16.3", "4.16.3"))
        hosted, hasty = rng.random() < 0.3, org in self.hasty
        labels = {
            "soak-days": "0" if at == 0 or hasty else rng.choice(("0", "1", "1", "2")),
            "workloads": rng.choice(WORKLOADS),
            "schedule": rng.choice(_SCHEDULES),
            "mutexes": "" if hasty else rng.choice(MUTEXES),
            "blocked-versions": rng.choice(BLOCKED),
        }
        if named and rng.random() < 0.8:
            labels["sector"] = rng.choice(sorted(set(named)))
        if rng.random() < 0.15:
            labels["schedule-timezone"] = rng.choice(ZONES)
        if rng.random() < 0.2:
            labels["version-gate-approvals"] = ",".join(each.label for each in GATES)
        if rng.random() < 0.08:
            name, value = rng.choice(BAD)
            labels[name] = value
        pools = [
            {"id": f"np{number}", "version": rng.choice((version, version, "4.16.2"))}
            for number in range(rng.choice((1, 2)) if hosted else 0)
        ]
        return {
            "name": f"{org}-c{at}",
            "org": org,
            "version": version,
            "product": "rosa",
            "hypershift": hosted,
            "sts": rng.random() < 0.3,
            "channel": rng.choice(("stable-4.16", "stable-4.16", "candidate-4.16", "stable-4.17")),
            "node_pools": pools,
            "labels": {name: value for name, value in labels.items() if value},
        }
