"""What a simulated pod says: the numbers of a reconcile loop, and the lines of its log."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tidegate.kubernetes.simulated.api import LogLine
from tidegate.kubernetes.simulated.behaviour_doc import ContainerStart
from tidegate.kubernetes.simulated.life.life import Life, PodRun
from tidegate.model.time import SECOND, Duration, Instant, format_second

# The container that does the work, where there are several.
WORKER = "int"
# Where a loop tells its numbers if its container names no port.
PORT_DEFAULT = 9090
# A log is as long as that many runs: nodes throw older lines away.
RUNS_KEPT_MAX = 200
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class ContainerIdentity(msgspec.Struct, frozen=True):
    """Who a pod's container is, by its own variables."""

    container: str
    image: str
    integration: str = ""
    # As people name it: its key, or its number.
    shard: str = ""
    shards: str = "1"
    shard_id: str = "0-1"
    # Between two runs; None: nothing says.
    sleep: Duration | None = None
    ports: tuple[int, ...] = ()

    @property
    def tag(self) -> str:
        """The tag of its image; the digest of one without."""
        name, _, digest = self.image.partition("@")
        tag = name.rpartition(":")[2] if ":" in name.rpartition("/")[2] else ""
        return tag or digest or "latest"


def worker_of(spec: Mapping[str, Any]) -> ContainerIdentity:
    """The container of a pod that does the work."""
    containers = spec.get("containers") or [{"name": WORKER, "image": ""}]
    chosen = next((each for each in containers if each.get("name") == WORKER), containers[0])
    env = {each["name"]: str(each.get("value") or "") for each in chosen.get("env") or ()}
    key, number, count = env.get("SHARD_KEY", ""), env.get("SHARD_ID", ""), env.get("SHARDS", "")
    sleep = env.get("SLEEP_DURATION_SECS", "")
    ports = tuple(int(each["containerPort"]) for each in chosen.get("ports") or ())
    return ContainerIdentity(
        container=str(chosen.get("name") or WORKER),
        image=str(chosen.get("image") or ""),
        integration=env.get("INTEGRATION_NAME", ""),
        shard=key or number,
        shards=count or "1",
        shard_id=key or f"{number or 0}-{count or 1}",
        sleep=Duration(int(sleep) * SECOND) if sleep.isdecimal() else None,
        ports=ports or (PORT_DEFAULT,),
    )


def numbers(life: Life, worker: ContainerIdentity, now: Instant) -> str:
    """What a loop exports; there is nothing to say before its first run has ended."""
    count = life.ended(now)
    last = life.run(count - 1) if count else None
    labels = ",".join(
        f'{name}="{value}"'
        for name, value in (
            ("integration", worker.integration),
            ("shards", worker.shards),
            ("shard_id", worker.shard_id),
        )
    )
    series = (
        ("last_run_seconds", "gauge", "", life.manner.takes / SECOND),
        ("last_run_status", "gauge", "", last.exit_code if last is not None else 0),
        ("execution_counter", "counter", "_total", count),
    )
    lines: list[str] = []
    for name, kind, suffix, value in series:
        metric = f"qontract_reconcile_{name}"
        lines += [f"# HELP {metric}{suffix} {name}", f"# TYPE {metric}{suffix} {kind}"]
        if last is not None:
            lines.append(f"{metric}{suffix}{{{labels}}} {float(value)}")
    return "\n".join(lines) + "\n"


def lines(life: Life, worker: ContainerIdentity, first: int = 0) -> Iterator[tuple[int, LogLine]]:
    """The lines of all runs from one on, for good, each with the number of its run."""
    crashes = life.manner.start is ContainerStart.CRASH_LOOP and not life.once
    index = first
    while life.runs or crashes:
        run = life.crash(index) if crashes else life.run(index)
        for line in _of_run(life, worker, run):
            yield index, line
        index += 1
        if life.once:
            return


def first_kept(life: Life, now: Instant) -> int:
    """The oldest run that is still in the log."""
    return max(0, max(life.begun(now), life.crashes_begun(now)) - RUNS_KEPT_MAX)


def _of_run(life: Life, worker: ContainerIdentity, run: PodRun) -> Iterator[LogLine]:
    said = life.manner.fail_log if run.exit_code else life.manner.log
    lasts = run.ends_at - run.begins_at
    for number, text in enumerate(said):
        at = Instant(run.begins_at + lasts * number // len(said))
        yield LogLine(at, _line(text, worker, run, at))


def _line(text: str, worker: ContainerIdentity, run: PodRun, at: Instant) -> str:
    level, rest, _ = "ERROR" if run.exit_code else "INFO", text, ""
    for each in _LEVELS:
        if text.startswith(f"{each}: "):
            level, rest = each, text.removeprefix(f"{each}: ")
    for name, value in (
        ("integration", worker.integration),
        ("shard", worker.shard or worker.shard_id),
        ("tag", worker.tag),
        ("run", str(run.number)),
    ):
        rest = rest.replace(f"{{{name}}}", value)
    stamp = format_second(at).replace("T", " ").removesuffix("Z")
    return f"[{stamp}] [{level}] {rest}"
