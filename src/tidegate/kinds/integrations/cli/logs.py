"""`logs`: what shards say, each line with the shard and the image that said it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import click

from tidegate.cli.shape import Command
from tidegate.kinds.integrations.app.sight import Sights, where_of
from tidegate.kinds.integrations.cli.estate import Asked, end_with, estate_options
from tidegate.kinds.integrations.cli.shards import Meant, find_units, meant_units
from tidegate.kinds.integrations.core.workloads.estate import Place, Unit
from tidegate.kinds.integrations.core.workloads.live import CONTAINER, Pod
from tidegate.kubernetes.port import Cluster
from tidegate.model.errors import OutsideError
from tidegate.registry.image import tag_of


@click.command(
    cls=Command,
    examples="""
    tidegate logs shard/terraform-resources/ter-int-dev
    tidegate logs terraform-resources/app-sre -f --tail 20
    tidegate logs --integration terraform-resources --environment app-interface-production -f
    """,
)
@click.argument("target", required=False)
@estate_options(in_folder=False)
@click.option("-f", "--follow", is_flag=True, help="Go on as lines are written.")
@click.option("--tail", type=click.IntRange(min=0), default=None, help="Only the last lines.")
@click.option("-c", "--container", default=CONTAINER, show_default=True, help="Of the pods.")
def logs(asked: Asked, target: str | None, follow: bool, tail: int | None, container: str) -> None:
    """Print the log lines of shards, each with the shard and its image."""
    if target is None and asked.selection.is_everything:
        raise click.UsageError("whose? Name a shard, or --integration and the like")
    meant = meant_units(asked) if target is None else find_units(asked, target)
    end_with(asyncio.run(_print(asked, meant, follow, tail, container)))


async def _print(
    asked: Asked, meant: Meant, follow: bool, tail: int | None, part: str
) -> list[str]:
    """Print every line as it comes; what could not be read."""
    names = dict.fromkeys(place.managed.namespace.cluster for place, _ in meant)
    async with asked.clusters(names) as (opened, shut):
        troubles = list(shut.values())
        sights = Sights(lambda name: opened[name])
        speaking: list[asyncio.Task[str]] = []
        # One that runs in several environments is told apart by them.
        twice = len({unit.name for _, unit in meant}) < len(meant)
        for place, unit in meant:
            cluster, namespace = where_of(place)
            if cluster not in opened:
                continue
            try:
                pods = await _pods(sights, place, unit)
            except OutsideError as error:
                troubles.append(str(error))
                continue
            if not pods:
                troubles.append(f"{unit.name}: nothing runs in {cluster}/{namespace}")
            for pod in pods:
                said = _lines(opened[cluster], namespace, pod, part, follow, tail)
                who = _who(unit, pod)
                if twice:
                    who = f"{place.managed.namespace.environment} {who}"
                speaking.append(asyncio.create_task(_speak(who, said)))
        troubles += [said for said in await asyncio.gather(*speaking) if said]
    return list(dict.fromkeys(troubles))


def _lines(
    cluster: Cluster, namespace: str, pod: Pod, part: str, follow: bool, tail: int | None
) -> AsyncGenerator[str, None]:
    return cluster.logs(namespace, pod.name, part, follow=follow, tail=tail)


async def _pods(sights: Sights, place: Place, unit: Unit) -> list[Pod]:
    sight = await sights.of(where_of(place))
    every = (pod for shard in unit.shards for pod in sight.pods.get(shard.workload, ()))
    return [pod for pod in every if not pod.ending]


def _who(unit: Unit, pod: Pod) -> str:
    """Who says it: the shard, which of its parts, and the image."""
    part = f"[{pod.env.get('SHARD_ID', '?')}]" if len(unit.shards) > 1 else ""
    return f"{unit.name}{part} {tag_of(pod.image) or pod.image}"


async def _speak(who: str, lines: AsyncGenerator[str, None]) -> str:
    """Print the lines of one pod; why there are no more."""
    try:
        async with aclosing(lines):
            async for line in lines:
                click.echo(f"{click.style(who, dim=True)} {line}")
    except OutsideError as error:
        return f"{who}: {error}"
    return ""
