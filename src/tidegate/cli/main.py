"""The `tidegate` command: every command by section, and one way to fail.

The tables hold names and one-liners only: `--help` imports no command. Exit codes are explained by
`tidegate help exit-codes`.
"""

import os
import sys

import click

from tidegate import __version__
from tidegate.cli.shape import LazyGroup, Table

FAILURE, USAGE, NOT_ALLOWED, INTERRUPTED = 1, 2, 4, 130

_LOOK: Table = {
    "status": ("tidegate.cli.look.status:status", "Show what moves, waits or failed, per kind"),
    "get": (
        "tidegate.cli.look.status:get",
        "List rollouts, shards, clusters, promotions, holds and more",
    ),
    "show": (
        "tidegate.cli.look.status:show",
        "Show one rollout, organisation, promotion or shard in full",
    ),
    "why": ("tidegate.cli.look.why:why", "Explain why each target starts or waits, gate by gate"),
    "when": ("tidegate.cli.look.when:when", "Estimate when each target starts and finishes"),
    "changes": ("tidegate.cli.look.changes:changes", "Show what changed lately, by whom and why"),
    "logs": (
        "tidegate.kinds.integrations.cli.logs:logs",
        "Print the log lines of shards, with shard and image",
    ),
    "verify": (
        "tidegate.kinds.integrations.cli.verify:verify",
        "Compare the declared images with the running ones",
    ),
}

_CHANGE: Table = {
    "validate": (
        "tidegate.kinds.integrations.cli.validate:validate",
        "Check a bundle and report every problem",
    ),
    "plan": (
        "tidegate.kinds.integrations.cli.objects.plan:plan",
        "List what `apply` would change and restart",
    ),
    "diff": (
        "tidegate.kinds.integrations.cli.objects.plan:diff",
        "Show what `apply` would change, field by field",
    ),
    "apply": (
        "tidegate.kinds.integrations.cli.objects.apply:apply",
        "Apply a bundle to its clusters",
    ),
    "release": (
        "tidegate.kinds.integrations.cli.objects.release:release",
        "Stop managing what was applied, without changing it",
    ),
    "approve": ("tidegate.cli.asks:approve", "Approve groups, or answer at an approval gate"),
    "reject": ("tidegate.cli.asks:reject", "Reject a revision"),
    "revoke": ("tidegate.cli.asks:revoke", "Withdraw approvals"),
    "retry": ("tidegate.cli.asks:retry", "Retry a rollout, or only its failed targets"),
    "withdraw": (
        "tidegate.cli.withdraw:withdraw",
        "Withdraw a change that was requested of a service",
    ),
}

_STOP: Table = {
    "hold": (
        "tidegate.cli.brakes.commands:hold",
        "Start nothing in a scope until the hold is removed",
    ),
    "freeze": ("tidegate.cli.brakes.commands:freeze", "Start nothing at certain times"),
    "block": ("tidegate.cli.brakes.commands:block", "Keep a revision from starting anywhere"),
    "pin": (
        "tidegate.kinds.integrations.cli.pins.command:pin",
        "Keep targets on the revision they run",
    ),
    "unpin": (
        "tidegate.kinds.integrations.cli.pins.command:unpin",
        "Let pinned targets move again",
    ),
    "pause": ("tidegate.cli.asks:pause", "Start no more targets of one rollout"),
    "resume": ("tidegate.cli.asks:resume", "Continue a paused rollout"),
    "abort": ("tidegate.cli.asks:abort", "End a rollout"),
    "free": ("tidegate.cli.brakes.free:free", "Release budgets and mutexes of a removed rollout"),
}

_OWNERS: Table = {
    "upgrades": ("tidegate.cli.main:upgrades", "Declare, check and forecast upgrades of clusters"),
}

_POLICIES: Table = {
    "policies": (
        "tidegate.kinds.policies.cli.policies:policies",
        "Plan, take over and hand back policies of a hub",
    ),
}

_MERGE_REQUESTS: Table = {
    "promote": (
        "tidegate.kinds.promotions.cli.promote:promote",
        "Move a version to environments by merge request",
    ),
    "promotions": (
        "tidegate.kinds.promotions.cli.pipelines:promotions",
        "Report deployments, find bad commits, lift quarantines",
    ),
    "pending": (
        "tidegate.kinds.promotions.cli.pending:pending",
        "List commits that are merged and not promoted",
    ),
    "revert": (
        "tidegate.kinds.promotions.cli.revert:revert",
        "Propose to revert a commit that is not promoted",
    ),
    "check": (
        "tidegate.kinds.integrations.cli.check.command:check",
        "Dry-run the integrations that a merge request affects",
    ),
    "preview": (
        "tidegate.kinds.integrations.cli.preview.command:preview",
        "Show the effect of a merge request on the fleet",
    ),
}

_RUN: Table = {
    "run": ("tidegate.cli.worker.run:run", "Observe, decide and record; act where --act allows it"),
    "serve": ("tidegate.cli.worker.serve:serve", "`run` plus an HTTP API, probes and metrics"),
    "login": (
        "tidegate.cli.access.login:login",
        "Log in to a service, to ask it instead of a journal",
    ),
    "logout": ("tidegate.cli.access.login:logout", "Delete a login at a service"),
    "context": ("tidegate.cli.access.login:context", "Choose the service that commands ask"),
    "auth": ("tidegate.cli.access.permission:auth", "Ask a service what you may do"),
    "token": ("tidegate.cli.access.tokens:token", "Create, list and revoke API tokens"),
    "session": ("tidegate.cli.access.sessions:session", "List and end browser sessions"),
    "config": ("tidegate.cli.config:config", "Show the settings and where each comes from"),
    "journal": ("tidegate.cli.journal:journal", "Show, verify, export and compact the journal"),
    "replay": ("tidegate.cli.look.replay:replay", "Repeat recorded decisions with today's rules"),
    "shadow": ("tidegate.cli.look.replay:shadow", "Compare decisions with those of another system"),
}

_TOOLS: Table = {
    "simulate": (
        "tidegate.kinds.rollouts.cli.simulate:simulate",
        "Simulate a rollout, or weeks of upgrades, in seconds",
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
    "help": ("tidegate.cli.help:help_", "Explain a topic or a command"),
    "version": ("tidegate.cli.version:version", "Print the version"),
}

SECTIONS: dict[str, Table] = {
    "Look": _LOOK,
    "Change": _CHANGE,
    "Stop": _STOP,
    "Upgrades, for owners of clusters": _OWNERS,
    "Policies of Open Cluster Management": _POLICIES,
    "Merge requests": _MERGE_REQUESTS,
    "Run it": _RUN,
    "Tools": _TOOLS,
}

# What other tools of the field call it. By spelling alone, "delete" is nearest to `release`.
_ELSEWHERE = {
    "cancel": "abort",
    "continue": "resume",
    "delete": "hold remove",
    "describe": "show",
    "explain": "why",
    "forecast": "when",
    "history": "changes",
    "list": "get",
    "ls": "get",
    "remove": "hold remove",
    "rollback": "abort",
    "rollout": "get rollouts",
    "start": "run",
    "stop": "hold add",
    "unfreeze": "freeze remove",
    "unhold": "hold remove",
}

_DECLARE: Table = {
    "policy": (
        "tidegate.kinds.upgrades.cli.owners.policy:policy",
        "Upgrade policies of clusters: soak, schedule, sector",
    ),
    "sectors": (
        "tidegate.kinds.upgrades.cli.owners.sectors:sectors",
        "Sectors, and which sector waits for which",
    ),
    "version-blocks": (
        "tidegate.kinds.upgrades.cli.owners.version_blocks:version_blocks",
        "Versions that an organisation excludes",
    ),
    "inheritance": (
        "tidegate.kinds.upgrades.cli.owners.inheritance:inheritance",
        "Share soak data between organisations",
    ),
    "gates": (
        "tidegate.kinds.upgrades.cli.owners.gates:gates",
        "Acknowledgements that a minor version requires",
    ),
}

_FORECAST: Table = {
    "status": (
        "tidegate.kinds.upgrades.cli.status:status",
        "Show an organisation on one screen",
    ),
    "report": (
        "tidegate.kinds.upgrades.cli.report:report",
        "Show the fleet: labels, versions, soak",
    ),
    "lint": (
        "tidegate.kinds.upgrades.cli.lint:lint",
        "Find labels that do not do what they seem to",
    ),
    "what-if": (
        "tidegate.kinds.upgrades.cli.what_if:what_if_command",
        "Show what other labels would change",
    ),
}

_OPERATE: Table = {
    "expedite": (
        "tidegate.kinds.upgrades.cli.expedite:expedite",
        "Let a version skip soak and windows",
    ),
    "soak": (
        "tidegate.kinds.upgrades.cli.soak:soak",
        "Import and export soak data",
    ),
}

_UPGRADE_SECTIONS: dict[str, Table] = {
    "Declare": _DECLARE,
    "Look": _FORECAST,
    "For operators": _OPERATE,
}


def _joined(sections: dict[str, Table]) -> Table:
    return {name: entry for table in sections.values() for name, entry in table.items()}


@click.command(
    cls=LazyGroup,
    commands_by_name=_joined(_UPGRADE_SECTIONS),
    sections=_UPGRADE_SECTIONS,
    examples="""
    tidegate upgrades status
    tidegate upgrades policy get
    tidegate upgrades policy set pay-prod-1 --soak-days 5 --dry-run
    tidegate upgrades lint
    tidegate upgrades what-if --set pay-prod-1/soak-days=5
    """,
    epilog="""The clusters themselves: `tidegate get clusters`, `why cluster/NAME`,
    `when cluster/NAME`. More: `tidegate help upgrades`.""",
)
def upgrades() -> None:
    """Declare upgrades of OpenShift clusters in labels, and see what the labels lead to.

    The commands read OpenShift Cluster Manager at --ocm-url (TIDEGATE_OCM_URL) with --token
    (OCM_TOKEN), or the organisations of --upgrades FILE.
    """


@click.command(
    cls=LazyGroup,
    commands_by_name=_joined(SECTIONS),
    sections=SECTIONS,
    aliases={
        name: ("upgrades", name)
        for name in _joined(_UPGRADE_SECTIONS)
        if name not in _joined(SECTIONS)
    },
    elsewhere=_ELSEWHERE,
    examples="""
    tidegate why examples/state.yaml prod-eu-1   why a target waits
    tidegate simulate examples/rollout.yaml      a whole rollout in virtual time
    tidegate hold add inc-42 --everything --reason "incident 42"
    """,
    epilog="""`tidegate COMMAND --help` explains a command, `tidegate help TOPIC` a topic:
    rollouts, integrations, policies, promotions, upgrades, brakes, journal, settings, output,
    exit-codes.""",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="tidegate %(version)s")
def cli() -> None:
    """Let change into a fleet one safe step at a time, and say why everything else waits."""


def _guard_terminals() -> None:
    if any(each is not None and each.isatty() for each in (sys.stdout, sys.stderr)):
        from tidegate.cli.render.terminal import guard_terminals

        guard_terminals()


def main() -> None:
    """Run the command line and turn every failure into one readable line and an exit code."""
    _guard_terminals()
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
        # The reader of our output closed the pipe, as `head` does.
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
    from tidegate.model.errors import RefusedError, TidegateError, UserError

    if isinstance(error, TidegateError) and not isinstance(error, UserError):
        click.echo(f"Error: {error}", err=True)
        return FAILURE
    if not isinstance(error, UserError):
        tell_bug(error)
        return FAILURE
    where = f"{error.where}: " if error.where else ""
    for problem in error.problems:
        click.echo(f"Error: {where}{problem.text()}", err=True)
    return NOT_ALLOWED if isinstance(error, RefusedError) else USAGE


def tell_bug(error: Exception) -> None:
    """That something is our fault, and what helps to find it."""
    if os.environ.get("TIDEGATE_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}"
    click.echo(f"Error: a bug in tidegate: {what}", err=True)
    click.echo("Run it again with TIDEGATE_DEBUG=1 and report what it prints.", err=True)
