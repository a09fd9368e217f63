"""`tidegate fleet`: simulated clusters for workers in other processes."""

import asyncio
import signal
import socket
from pathlib import Path

import click

from tidegate.cli.shape import Command


@click.command(
    cls=Command,
    examples="""
    tidegate fleet examples/demo.yaml --port 8700                    clusters that outlive workers
    tidegate run --fleet http://127.0.0.1:8700 --act 'simulated/*'   a worker for them
    tidegate fleet examples/demo.yaml --copies 100 --answer-time 20ms
    """,
)
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--port", default=0, show_default=True, help="The port on 127.0.0.1; 0 takes a free one."
)
@click.option(
    "--copies", default=1, show_default=True, help="How many rollouts to make of each scenario."
)
@click.option("--seed", default=0, show_default=True, help="The seed of random failures.")
@click.option("--answer-time", default="0s", show_default=True, help="How long every answer takes.")
@click.option(
    "--every", default="0s", show_default=True, help="The time between the start of two rollouts."
)
def fleet(
    files: tuple[str, ...], port: int, copies: int, seed: int, answer_time: str, every: str
) -> None:
    """Serve simulated fleets to workers in other processes, until stopped.

    FILES are scenarios. The address is printed on stdout. Requests to the clusters are
    recorded even if workers die; GET /carried lists them.
    """
    from tidegate.kinds.rollouts.simulated.fleet_server import FleetServer
    from tidegate.kinds.rollouts.simulated.port import SimulatedFleet
    from tidegate.kinds.rollouts.start import read_scenario_file
    from tidegate.model.time import SECOND, parse_duration
    from tidegate.wiring import clock

    def seconds(option: str, text: str) -> float:
        try:
            return parse_duration(text) / SECOND
        except ValueError as error:
            raise click.UsageError(f"{option} {text}: {error}; write 20ms") from None

    answer_s, every_s = seconds("--answer-time", answer_time), seconds("--every", every)
    simulated = SimulatedFleet(clock())
    rollouts = [
        (name, scenario, seed + number)
        for file in files
        for scenario in (read_scenario_file(file),)
        for number, name in enumerate(_names(file, copies))
    ]

    async def appear() -> None:
        for name, scenario, own_seed in rollouts:
            simulated.add(name, scenario, own_seed)
            if every_s:
                await asyncio.sleep(every_s)

    async def serve() -> None:
        appearing = asyncio.create_task(appear())
        if not every_s:
            await appearing
        server = FleetServer(simulated, answer_s)
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, server.stop)
        with socket.create_server(("127.0.0.1", port)) as ear:
            click.echo(f"http://127.0.0.1:{ear.getsockname()[1]}")
            await server.serve(ear)
        appearing.cancel()

    asyncio.run(serve())


def _names(file: str, copies: int) -> list[str]:
    stem = f"simulated/{Path(file).stem}"
    width = len(str(copies))
    return [stem] if copies == 1 else [f"{stem}-{i:0{width}d}" for i in range(1, copies + 1)]
