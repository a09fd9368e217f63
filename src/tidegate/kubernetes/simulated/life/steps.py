"""What a controller finds, and what it does next: values that its node carries out."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from tidegate.kubernetes.simulated.life.life import Life
from tidegate.model.time import SECOND, Instant, format_second

# How many hexadecimal digits of a template's identity a name holds.
_REVISION_LENGTH = 10


class Scene(msgspec.Struct, frozen=True):
    """One workload, its pods and the moment."""

    name: str
    spec: Mapping[str, Any]
    generation: int
    # As it was written last.
    status: Mapping[str, Any]
    pods: Sequence[Life]
    now: Instant
    speed: int
    # When it last got anywhere.
    progressed_at: Instant
    # The template as it is now was out already once.
    done: bool = False

    @property
    def replicas(self) -> int:
        """How many pods are wanted."""
        wanted = self.spec.get("replicas")
        return 1 if wanted is None else int(wanted)

    @property
    def staying(self) -> list[Life]:
        """The pods that are not stopping, oldest first."""
        return sorted(
            (each for each in self.pods if each.gone_at is None),
            key=lambda each: (each.born_at, each.key[2]),
        )

    def available(self, pod: Life) -> bool:
        """Whether a pod has been ready for as long as is asked."""
        return pod.is_ready(self.now) and self.now >= self.available_at(pod)

    def available_at(self, pod: Life) -> Instant:
        """When a pod that gets ready counts."""
        wait = int(self.spec.get("minReadySeconds") or 0) * SECOND // self.speed
        return Instant(pod.ready_at + wait)


class NewPod(msgspec.Struct, frozen=True):
    """A pod to be made; an empty name is made up."""

    name: str = ""
    # Of what runs once: which try it is.
    first_run: int = 1


class WorkloadStep(msgspec.Struct, frozen=True):
    """What to do about a workload now, and when to look again if nothing happens."""

    births: tuple[NewPod, ...] = ()
    stops: tuple[Life, ...] = ()
    look_at: Instant | None = None


def revision_of(template: Mapping[str, Any]) -> str:
    """The identity of a template: the same for the same text."""
    text = msgspec.json.encode(template, order="deterministic")
    return sha256(text).hexdigest()[:_REVISION_LENGTH]


def without_zeros(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status as the real server writes it: a number that is 0 is left out."""
    return {name: value for name, value in status.items() if value not in (0, None, [])}


def condition(
    before: Sequence[Mapping[str, Any]],
    kind: str,
    status: str,
    reason: str,
    message: str,
    now: Instant,
    *,
    renewed: bool = False,
) -> dict[str, str]:
    """A condition; its times stay what they were while nothing changes."""
    old = next((each for each in before if each["type"] == kind), None)
    moved = old["lastTransitionTime"] if old and old["status"] == status else format_second(now)
    same = old is not None and (old["status"], old["reason"]) == (status, reason)
    stated = old["lastUpdateTime"] if old and same and not renewed else format_second(now)
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastUpdateTime": stated,
        "lastTransitionTime": moved,
    }
