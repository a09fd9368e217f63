"""What happens to a Job: it runs once, and again with another pod as often as it may fail.

Kinder than the real one in one thing: a pod with `restartPolicy: OnFailure` is replaced, too, and
not started again in its place.
"""

from collections.abc import Mapping
from typing import Any

from tidegate.kubernetes.simulated.life.life import Life, PodPhase
from tidegate.kubernetes.simulated.life.steps import NewPod, Scene, WorkloadStep, without_zeros
from tidegate.model.time import SECOND, Instant, format_second

_RETRIES_DEFAULT = 6
# Between two tries; twice as long each time, at most six minutes.
_PAUSE_S, _PAUSE_MAX_S = 10, 360


def next_step(scene: Scene) -> WorkloadStep:
    """Whether another try is due."""
    if scene.spec.get("suspend") or _verdict(scene):
        return WorkloadStep(
            (), tuple(each for each in scene.staying if not _ended(each, scene.now))
        )
    tries = _tries(scene)
    if not tries:
        return WorkloadStep((NewPod(first_run=1),))
    last = tries[-1]
    if not _ended(last, scene.now):
        return WorkloadStep()
    due = Instant(last.run(0).ends_at + _pause(len(tries)) // scene.speed)
    if scene.now < due:
        return WorkloadStep(look_at=due)
    return WorkloadStep((NewPod(first_run=len(tries) + 1),))


def status_of(scene: Scene) -> dict[str, Any]:
    """Its status."""
    tries = _tries(scene)
    phases = [each.at(scene.now).phase for each in tries]
    verdict = _verdict(scene)
    status: dict[str, Any] = {
        "active": sum(phase not in (PodPhase.SUCCEEDED, PodPhase.FAILED) for phase in phases),
        "succeeded": phases.count(PodPhase.SUCCEEDED),
        "failed": phases.count(PodPhase.FAILED),
    }
    status = without_zeros(status)
    if tries:
        status["startTime"] = format_second(tries[0].born_at)
    if verdict:
        ended = format_second(tries[-1].run(0).ends_at)
        status["conditions"] = [_condition(verdict, ended)]
        if verdict == "Complete":
            status["completionTime"] = ended
    return status


def gone_at(scene: Scene) -> Instant | None:
    """When a Job that has ended is cleaned away; None: never by itself."""
    lives = scene.spec.get("ttlSecondsAfterFinished")
    if lives is None or not _verdict(scene):
        return None
    return Instant(_tries(scene)[-1].run(0).ends_at + int(lives) * SECOND // scene.speed)


def verdict_of(status: Mapping[str, Any]) -> str:
    """`Complete` or `Failed`, by what was written; empty: it goes on."""
    conditions = status.get("conditions") or ()
    return next((each["type"] for each in conditions if each["status"] == "True"), "")


def _tries(scene: Scene) -> list[Life]:
    return sorted(scene.pods, key=lambda each: each.first_run)


def _ended(pod: Life, now: Instant) -> bool:
    return pod.at(now).phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)


def _verdict(scene: Scene) -> str:
    phases = [each.at(scene.now).phase for each in scene.pods]
    if PodPhase.SUCCEEDED in phases:
        return "Complete"
    allowed = scene.spec.get("backoffLimit")
    most = _RETRIES_DEFAULT if allowed is None else int(allowed)
    return "Failed" if phases.count(PodPhase.FAILED) > most else ""


def _pause(tries: int) -> int:
    return min(_PAUSE_S << min(tries - 1, 10), _PAUSE_MAX_S) * SECOND


def _condition(verdict: str, ended: str) -> dict[str, str]:
    done = verdict == "Complete"
    return {
        "type": verdict,
        "status": "True",
        "reason": "CompletionsReached" if done else "BackoffLimitExceeded",
        "message": "Reached expected number of succeeded pods"
        if done
        else "Job has reached the specified backoff limit",
        "lastProbeTime": ended,
        "lastTransitionTime": ended,
    }
