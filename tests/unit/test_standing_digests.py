"""What a unit runs is called as it is wanted, if it is the same in other words; a row each."""

import msgspec
import pytest

from tests.bundles import PRODUCTION, integration, with_integration
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.waves.rules import ImageRules
from tidegate.kinds.integrations.core.waves.shard_state import standing_of
from tidegate.kinds.integrations.core.workloads.estate import ManagedPlace, Unit, estate_of
from tidegate.kinds.integrations.core.workloads.live import LiveWorkload, Pod
from tidegate.kinds.rollouts.core.strategy import Strategy, StrategyType
from tidegate.model.problem import Problems
from tidegate.model.target import Status

REPOSITORY = "quay.io/app-sre/qontract-reconcile"
ONE, TWO = (f"sha256:{digit * 64}" for digit in "12")
MANAGED = f"""
- namespace: {{$ref: {PRODUCTION}}}
  spec: {{imageRef: ed21267, resources: {{requests: {{cpu: 100m, memory: 100Mi}}}}}}
"""


def place(digest: str) -> tuple[ManagedPlace, Unit]:
    bundle = with_integration(integration(MANAGED))
    digests = {f"{REPOSITORY}:ed21267": digest} if digest else {}
    found = estate_of(
        INTEGRATIONS.of(bundle).integrations,
        INTEGRATIONS.of(bundle).inventories,
        Problems(),
        digests=digests,
    )
    return found.places[0], found.places[0].units[0]


def reported(known: str, runs: str, *pulled: str) -> str | None:
    """What is reported of a unit that runs an image, its pods having pulled some digests."""
    where, unit = place(known)
    name = unit.shards[0].workload
    workload = LiveWorkload(kind="Deployment", name=name, image=f"{REPOSITORY}{runs}")
    pods = [
        Pod(
            uid=str(at),
            name=f"{name}-{at}",
            workload=name,
            image=workload.image,
            image_id=f"{REPOSITORY}@{digest}" if digest else "",
        )
        for at, digest in enumerate(pulled)
    ]
    rules = ImageRules(strategy=Strategy(StrategyType.ALL), runs=0)
    target = standing_of(
        unit, rules, REPOSITORY, {name: workload}, {name: pods}, {}, {}, where.wanted(unit)
    )
    assert target.status in (Status.Succeeded, Status.Progressing)
    return target.revision


@pytest.mark.parametrize(
    "known, runs, pulled, wanted",
    [
        # A registry is asked for the first time: what runs is the same, and stays.
        (ONE, ":ed21267", (ONE,), f"ed21267@{ONE}"),
        (ONE, f":ed21267@{ONE}", (ONE,), f"ed21267@{ONE}"),
        (ONE, f"@{ONE}", (ONE,), f"ed21267@{ONE}"),
        # The tag was moved, or that is not known.
        (TWO, ":ed21267", (ONE,), "ed21267"),
        (TWO, f":ed21267@{ONE}", (ONE,), f"ed21267@{ONE}"),
        (ONE, ":ed21267", (ONE, TWO), "ed21267"),
        (ONE, ":ed21267", ("",), "ed21267"),
        (ONE, ":ed21267", (), "ed21267"),
        # The registry is away, or asked no more: what runs is still what the tag was.
        ("", f":ed21267@{ONE}", (ONE,), "ed21267"),
        ("", ":ed21267", (), "ed21267"),
        # Another image is another image.
        (ONE, ":f929a38", (ONE,), "f929a38"),
        (ONE, f":f929a38@{ONE}", (ONE,), f"f929a38@{ONE}"),
    ],
)
def test_what_runs_has_the_name_of_what_is_wanted_only_if_it_is_that(
    known: str, runs: str, pulled: tuple[str, ...], wanted: str
) -> None:
    assert reported(known, runs, *pulled) == wanted


def test_a_pod_that_is_ending_does_not_say_what_runs() -> None:
    where, unit = place(ONE)
    name = unit.shards[0].workload
    image = f"{REPOSITORY}:ed21267"
    old = Pod(uid="1", name="a", workload=name, image=image, image_id=f"x@{TWO}", ending=True)
    new = msgspec.structs.replace(old, uid="2", image_id=f"x@{ONE}", ending=False)
    rules = ImageRules(strategy=Strategy(StrategyType.ALL), runs=0)
    workload = LiveWorkload(kind="Deployment", name=name, image=image)
    target = standing_of(
        unit, rules, REPOSITORY, {name: workload}, {name: [old, new]}, {}, {}, where.wanted(unit)
    )
    assert target.revision == f"ed21267@{ONE}"
