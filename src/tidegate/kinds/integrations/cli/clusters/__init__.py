"""`tidegate clusters`: clusters to rehearse on."""

import click

from tidegate.cli.shape import LazyGroup

_COMMANDS = {
    "simulate": (
        "tidegate.kinds.integrations.cli.clusters.simulate:simulate",
        "Serve simulated Kubernetes clusters of a bundle",
    ),
}


@click.command(
    cls=LazyGroup,
    commands_by_name=_COMMANDS,
    examples="""
    tidegate clusters simulate examples/app-interface --kubeconfig rehearsal.kubeconfig
    """,
)
def clusters() -> None:
    """Rehearse on simulated clusters."""
