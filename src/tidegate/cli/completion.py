"""`tidegate completion`: the script that teaches a shell our commands."""

import click
from click.shell_completion import get_completion_class

from tidegate.cli.shape import Command

SHELLS = ("bash", "zsh", "fish")


@click.command(
    cls=Command,
    examples="""
    source <(tidegate completion bash)
    tidegate completion fish > ~/.config/fish/completions/tidegate.fish
    """,
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    root = ctx.find_root()
    script = kind(root.command, {}, "tidegate", "_TIDEGATE_COMPLETE")
    click.echo(script.source())
