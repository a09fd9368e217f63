"""The `tidegate` command: six verbs to learn, one way to fail.

Exit codes: 0; 1 failure, or something was found; 2 what was written is wrong; 3 a rollout failed,
or `verify` differs;
4 not allowed; 70 and 75 of `check`, by whose fault it is; 124 `--timeout`; 130 interrupted.
"""

import os
import sys

import click

from tidegate import __version__
from tidegate.cli.shape import LazyGroup

FAILURE, USAGE, INTERRUPTED = 1, 2, 130

_COMMANDS = {
    "status": ("tidegate.cli.rollouts:status", "Say what moves, waits and failed, and needs you"),
    "get": ("tidegate.cli.rollouts:get", "List rollouts, shards, brakes, and who holds what"),
    "show": ("tidegate.cli.rollouts:show", "Show one rollout or shard in full"),
    "logs": (
        "tidegate.kinds.integrations.cli.logs:logs",
        "Print what shards say, with shard and image",
    ),
    "why": ("tidegate.cli.why:why", "Say why each target starts or waits, gate by gate"),
    "when": ("tidegate.cli.when:when", "Say when each target is expected to start and be done"),
    "report": (
        "tidegate.kinds.upgrades.cli.report:report",
        "Show the fleet: labels, versions, what soaks",
    ),
    "what-if": (
        "tidegate.kinds.upgrades.cli.what_if:what_if_command",
        "Say what other labels would come to",
    ),
    "validate": (
        "tidegate.kinds.integrations.cli.validate:validate",
        "Check a bundle: every problem, all at once",
    ),
    "lint": (
        "tidegate.kinds.upgrades.cli.lint:lint",
        "Find labels that do not do what their owners hope for",
    ),
    "check": (
        "tidegate.kinds.integrations.cli.check:check",
        "Try what a change does to integrations, in dry run",
    ),
    "preview": (
        "tidegate.kinds.integrations.cli.preview.command:preview",
        "Say what a change does to the fleet",
    ),
    "plan": (
        "tidegate.kinds.integrations.cli.plan:plan",
        "Say what would change on the clusters, and what restarts",
    ),
    "diff": (
        "tidegate.kinds.integrations.cli.plan:diff",
        "Show what would change, field by field; exit 1 if it does",
    ),
    "apply": (
        "tidegate.kinds.integrations.cli.apply:apply",
        "Make the clusters what the bundle says",
    ),
    "verify": (
        "tidegate.kinds.integrations.cli.verify:verify",
        "Compare what is promised with what runs",
    ),
    "release": (
        "tidegate.kinds.integrations.cli.release:release",
        "Give what Tidegate applied back, as it is",
    ),
    "promote": (
        "tidegate.kinds.promotions.cli.promote:promote",
        "Move a version to environments by merge request",
    ),
    "revert": (
        "tidegate.kinds.promotions.cli.revert:revert",
        "Offer to undo a commit that is not promoted",
    ),
    "pending": (
        "tidegate.kinds.promotions.cli.pending:pending",
        "List what is merged and not promoted",
    ),
    "approve": ("tidegate.cli.asks:approve", "Let groups of a rollout in"),
    "reject": ("tidegate.cli.asks:reject", "Say no to the revision under way"),
    "revoke": ("tidegate.cli.asks:revoke", "Take approvals back"),
    "pause": ("tidegate.cli.asks:pause", "Start nothing more in a rollout"),
    "resume": ("tidegate.cli.asks:resume", "Let a paused rollout go on"),
    "abort": ("tidegate.cli.asks:abort", "End a rollout"),
    "retry": ("tidegate.cli.asks:retry", "Try a rollout, or what failed of it, again"),
    "hold": ("tidegate.cli.brakes:hold", "Stop now, until lifted"),
    "freeze": ("tidegate.cli.brakes:freeze", "Start nothing at certain times"),
    "block": ("tidegate.cli.brakes:block", "Let a revision in nowhere"),
    "expedite": (
        "tidegate.kinds.upgrades.cli.expedite:expedite",
        "Let a version skip soak and windows",
    ),
    "pin": (
        "tidegate.kinds.integrations.cli.pins:pin",
        "Keep targets, or shards on their image, where they are",
    ),
    "unpin": ("tidegate.kinds.integrations.cli.pins:unpin", "Let pinned targets move again"),
    "free": ("tidegate.cli.free:free", "Free what a rollout that is gone still holds"),
    "soak": (
        "tidegate.kinds.upgrades.cli.soak:soak",
        "Take over, and hand on, what versions have soaked",
    ),
    "policy": (
        "tidegate.kinds.upgrades.cli.owners.policy:policy",
        "Upgrade policies of clusters, as labels",
    ),
    "sectors": (
        "tidegate.kinds.upgrades.cli.owners.sectors:sectors",
        "Sectors of clusters, and which waits for which",
    ),
    "version-blocks": (
        "tidegate.kinds.upgrades.cli.owners.version_blocks:version_blocks",
        "Versions that no cluster of an organisation goes to",
    ),
    "inheritance": (
        "tidegate.kinds.upgrades.cli.owners.inheritance:inheritance",
        "Whose soak counts, and where ours does",
    ),
    "gates": (
        "tidegate.kinds.upgrades.cli.owners.gates:gates",
        "What must be agreed to before a minor version",
    ),
    "run": ("tidegate.cli.run:run", "Observe, decide, record and, where told to, act"),
    "serve": ("tidegate.cli.serve:serve", "Run rounds for good, with probes, metrics and logs"),
    "config": ("tidegate.cli.config:config", "Look at the settings and where each comes from"),
    "journal": ("tidegate.cli.journal:journal", "Show, verify, move and compact what happened"),
    "replay": ("tidegate.cli.replay:replay", "Take recorded decisions again with today's rules"),
    "shadow": ("tidegate.cli.replay:shadow", "Compare with what the existing system did"),
    "simulate": (
        "tidegate.kinds.rollouts.cli.simulate:simulate",
        "Live through a rollout in virtual time",
    ),
    "fleet": (
        "tidegate.kinds.rollouts.cli.fleet:fleet",
        "Serve simulated fleets to other processes",
    ),
    "clusters": (
        "tidegate.kinds.integrations.cli.clusters:clusters",
        "Simulate the Kubernetes clusters of a bundle",
    ),
    "decide": ("tidegate.cli.decide:decide", "Decide for other programs: JSON lines in and out"),
    "completion": ("tidegate.cli.completion:completion", "Print the completion script of a shell"),
    "version": ("tidegate.cli.version:version", "Print the version"),
}

_EXAMPLES = """
tidegate why state.yaml              every target of a saved state, and why it waits
tidegate why state.yaml prod-eu-1    one target: every gate and what would open it
tidegate simulate rollout.yaml       the same rules in virtual time
tidegate decide rollout < lines      the rules as a filter on JSON lines
"""


@click.command(
    cls=LazyGroup,
    commands_by_name=_COMMANDS,
    examples=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="tidegate %(version)s")
def cli() -> None:
    """Let change into a fleet one safe step at a time, and say why everything else waits."""


def main() -> None:
    """Run the command line and turn every failure into one readable line and an exit code."""
    try:
        code = cli.main(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        error.show()
        code = USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; that is no failure worth a word.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILURE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"Error: {where}{(error.strerror or str(error)).lower()}", err=True)
        code = FAILURE
    except Exception as error:  # noqa: BLE001  the last stop: no input ends in a traceback
        code = _fail(error)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(error: Exception) -> int:
    """What was written is wrong: every problem on a line of its own. What failed elsewhere: that.

    Anything else is our bug.
    """
    from tidegate.model.errors import TidegateError, UserError

    if isinstance(error, TidegateError) and not isinstance(error, UserError):
        click.echo(f"Error: {error}", err=True)
        return FAILURE
    if not isinstance(error, UserError):
        tell_bug(error)
        return FAILURE
    where = f"{error.where}: " if error.where else ""
    for problem in error.problems:
        click.echo(f"Error: {where}{problem.text()}", err=True)
    return USAGE


def tell_bug(error: Exception) -> None:
    """That something is our fault, and what helps to find it."""
    if os.environ.get("TIDEGATE_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}"
    click.echo(f"Error: a bug in tidegate: {what}", err=True)
    click.echo("Run it again with TIDEGATE_DEBUG=1 and report what it prints.", err=True)
