"""The witness of real policies sees every fault that is planted, and none where there is none."""

import json
import time
from typing import Any

import pytest

from tests.policies import body, spec, template
from tests.real.policy_witness import HUB, Heard, Law, judge

LAW = Law("p", "web", (("dev",), ("prod",)))
NAMES = {"1": "a" * 12, "2": "b" * 12}


class Tale:
    """Writes to a hub and its clusters, a second after each other."""

    def __init__(self, **limits: Any) -> None:
        self.heard: list[Heard] = []
        strategy = {"type": "ProgressivePerGroup", "progressivePerGroup": limits}
        if limits.pop("rollback", False):
            strategy["onFailure"] = "rollback"
        self._write(HUB, "Rollout", "web", "p", spec={"rolloutStrategy": strategy})
        for value in NAMES:
            self.keep(value)
        for cluster in ("dev", "prod"):
            self.plain(cluster, "1")
            self.have(cluster, "1")
        # Taken over: no cluster gets anything by that.
        for cluster in ("dev", "prod"):
            self.point(cluster, "1")
            self.prove(cluster, "1")

    def _write(
        self,
        place: str,
        kind: str,
        name: str,
        namespace: str,
        change: str = "MODIFIED",
        uid: str = "u1",
        **fields: Any,
    ) -> None:
        at = len(self.heard)
        metadata = {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "resourceVersion": str(at),
            "managedFields": [{"time": _moment(at)}],
        }
        self.heard.append(Heard(at, place, change, {"kind": kind, "metadata": metadata, **fields}))

    def wait(self, seconds: int) -> "Tale":
        for _ in range(seconds):
            self._write(HUB, "ConfigMap", "nothing", "p", data={})
        return self

    def keep(self, value: str, content: str = "") -> "Tale":
        line = json.dumps(body(content or value, customMessage={"compliant": "x"}))
        self._write(HUB, "ConfigMap", f"web-rev-{NAMES[value]}", "p", data={"0": line})
        return self

    def point(self, cluster: str, value: str) -> "Tale":
        data = {"web": NAMES.get(value, value)}
        self._write(HUB, "ConfigMap", f"tidegate-pointers-{cluster}", "p", data=data)
        return self

    def plain(self, cluster: str, value: str) -> None:
        change = "FOUND"
        wanted = spec(template(spec=body(value)))
        self._write(HUB, "Policy", "p.web", cluster, change, spec=wanted)

    def prove(self, cluster: str, value: str, said: str = "Compliant", stamp: str = "") -> "Tale":
        message = f"{said}; [rev {NAMES[stamp or value]}] as wanted"
        entry = {"message": message, "lastTimestamp": _moment(len(self.heard))}
        status = {"details": [{"compliant": said, "history": [entry]}]}
        wanted = spec(template(spec=body(value)))
        self._write(HUB, "Policy", "p.web", cluster, spec=wanted, status=status)
        return self

    def have(self, cluster: str, value: str, uid: str = "u1") -> "Tale":
        data = {"value": value}
        self._write(cluster, "ConfigMap", "web", "default", uid=uid, data=data)
        return self

    def lose(self, cluster: str, kind: str) -> "Tale":
        at_hub = kind == "Policy"
        place, name = (HUB, "p.web") if at_hub else (cluster, "web")
        self._write(place, kind, name, cluster if at_hub else "default", "DELETED")
        return self

    def err(self, cluster: str) -> "Tale":
        broken = template()
        notes = {"policy.open-cluster-management.io/hub-templates-error": "not found"}
        broken["objectDefinition"]["metadata"]["annotations"] = notes
        self._write(HUB, "Policy", "p.web", cluster, spec=spec(broken))
        return self


def _moment(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_700_000_000 + second))


def in_turn(**limits: Any) -> Tale:
    """The second revision in dev, and proved there."""
    return Tale(**limits).point("dev", "2").have("dev", "2").prove("dev", "2")


@pytest.mark.parametrize(
    "tale",
    [
        Tale(),
        in_turn().point("prod", "2").have("prod", "2").prove("prod", "2"),
        in_turn(minSuccessTime="5s").wait(6).point("prod", "2"),
        Tale(progressDeadline="9s", maxFailures=1).point("dev", "2").wait(10).point("prod", "2"),
        Tale(rollback=True).point("dev", "2").point("dev", "1"),
    ],
    ids=["taken over", "in turn", "soaked", "within budget", "returned"],
)
def test_it_blames_no_one_where_all_is_well(tale: Tale) -> None:
    assert judge(tale.heard, LAW) == []


@pytest.mark.parametrize(
    "tale, told",
    [
        (Tale().point("prod", "2"), "prod: was given what dev, of an earlier group, does not have"),
        (
            Tale().point("dev", "2").point("prod", "2"),
            "prod: was given what dev, of an earlier group, has not proved",
        ),
        (
            # However green the hub is: it speaks of the revision before.
            Tale().point("dev", "2").prove("dev", "2", stamp="1").point("prod", "2"),
            "prod: was given what dev, of an earlier group, has not proved",
        ),
        (
            Tale().point("dev", "2").prove("dev", "2", "NonCompliant").point("prod", "2"),
            "prod: was given what dev, of an earlier group, has not proved",
        ),
        (
            in_turn(minSuccessTime="9s").wait(3).point("prod", "2"),
            "prod: was given what dev has not soaked",
        ),
        (
            Tale(progressDeadline="9s").point("dev", "2").wait(10).point("prod", "2"),
            "prod: was given what 1 cluster of earlier groups failed to prove",
        ),
        # A root that was rewritten shows in the replicated policies, not in pointers.
        (Tale().prove("prod", "2"), "prod: was given what dev, of an earlier group, does not have"),
        (in_turn().point("dev", "1"), "dev: was given again what it had before"),
        (in_turn().point("dev", "2"), "dev: its pointers were written again, and say the same"),
        (Tale().point("dev", "c" * 12), f"dev: pointed at {'c' * 12}, which there is not"),
        (Tale().keep("2", "3"), f"revision {NAMES['2']} was changed"),
        (in_turn().lose("dev", "ConfigMap"), "dev: its ConfigMap web was deleted"),
        (in_turn().have("dev", "2", "u2"), "dev: its ConfigMap web is another one"),
        (in_turn().lose("dev", "Policy"), "dev: its replicated policy was deleted"),
        (in_turn().err("dev"), "dev: its replicated policy has an error: not found"),
    ],
    ids=lambda value: "" if isinstance(value, Tale) else value.replace(" ", "_"),
)
def test_it_sees_every_fault_that_is_planted(tale: Tale, told: str) -> None:
    assert judge(tale.heard, LAW) == [told]


def test_the_order_in_which_it_hears_of_writes_does_not_matter() -> None:
    """A server that is down tells late; versions say what was first."""
    tale = in_turn().point("prod", "2")
    assert judge(reversed(tale.heard), LAW) == []
