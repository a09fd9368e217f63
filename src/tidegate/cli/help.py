"""`tidegate help`: a topic in a screen, or the help of a command.

Topics explain what several commands share; each names the commands and the page to read next. The
command reference prints them, too.
"""

import re
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from tidegate.cli.output import terminal_width
from tidegate.cli.shape import Command, LazyGroup, context_below, nearest_name

# What the texts below are written for.
_COLUMNS = 80
# A row of a table: what stands in its first column, up to where the last one begins.
_ROW = re.compile(r"^ +\S.*\S {2,}(?=\S)")

TOPICS: dict[str, tuple[str, str]] = {
    "rollouts": (
        "A change that moves over groups of targets",
        """
        A rollout moves one revision over ordered groups of targets. A target is a
        cluster, a shard or an environment. A gate is a condition that must be met
        before a target starts. Every gate gives a verdict with a reason: pass, wait
        (opens as the rollout goes on) or stop (shut until a person changes something).

          tidegate status                  what moves, waits or failed
          tidegate get rollouts            one row a rollout
          tidegate show rollout/NAME       groups, budget, history
          tidegate why TARGET              every gate, its numbers, what opens it
          tidegate when TARGET             the expected dates
          tidegate approve NAME --group G  also reject, revoke, pause, abort, retry

        To rehearse one: tidegate simulate examples/rollout.yaml
        Read on: docs/concepts/index.md, docs/concepts/why.md
        """,
    ),
    "integrations": (
        "Workloads of a Git bundle on Kubernetes clusters",
        """
        A bundle is a directory of YAML files that declares integrations, their shards
        and the clusters they run on. Tidegate keeps every shard as it is declared; a
        new image moves from group to group by the clean runs of each shard.

          tidegate serve --fleet bundle    keep clusters as the bundle declares them
          tidegate validate DIR            every problem of a bundle, with file and line
          tidegate plan DIR                what would change and restart
          tidegate diff DIR                the same, field by field
          tidegate apply DIR               change it; release stops managing it
          tidegate get shards DIR          what each shard should run and does run
          tidegate logs SHARD              its log lines
          tidegate pin INTEGRATION         keep shards on their image

        To rehearse: tidegate clusters simulate DIR --kubeconfig FILE
        Read on: docs/guides/integrations.md, docs/guides/hand-over.md
        """,
    ),
    "policies": (
        "Revisions of Open Cluster Management policies, group by group",
        """
        A hub gives an edited policy to every cluster at once. Tidegate lets each
        revision in group by group, as a Rollout object says, and counts a cluster only
        when its agent reports that very revision. The hub stays as it is.

          tidegate policies crd            the Rollout object, for kubectl apply
          tidegate policies plan           how policies are staged; what cannot be
          tidegate run --hub KUBECONFIG    observe; --act 'policies/*' moves them
          tidegate why policies/NS.NAME    why each cluster has it, or waits
          tidegate approve NAME --group G  also pause, retry, abort, and every brake
          tidegate policies leave NS.NAME  hand it back as its author wrote it

        To rehearse: tidegate simulate policies examples/policies.yaml
        Read on: docs/guides/policies.md
        """,
    ),
    "promotions": (
        "A version that moves through environments by merge request",
        """
        A version is written in many files. `promote` finds every place, shows the
        shards and authors concerned, and opens one merge request. It never approves
        and never merges.

          tidegate pending                 commits that are merged and not promoted
          tidegate get promotions          which version is in which environment
          tidegate promote --to ENV        what would change; --open-mr proposes it
          tidegate revert SHA --open-mr    propose to revert a commit
          tidegate verify --wait           wait until the promoted version runs
          tidegate check --base REF        try a merge request; preview shows its effect

        Read on: docs/guides/promotions.md, docs/guides/merge-requests.md
        """,
    ),
    "upgrades": (
        "Upgrades of OpenShift clusters by the labels of their owners",
        """
        Owners declare upgrades in labels of OpenShift Cluster Manager: soak, schedule,
        sector, mutexes, blocked versions. Tidegate upgrades a cluster once every gate
        is open.

        Look, with your own token:
          tidegate get clusters            versions, what comes next, and why
          tidegate why cluster/NAME        every gate of every version
          tidegate when cluster/NAME       the expected dates

        Declare, check and forecast (tidegate upgrades --help lists all):
          tidegate upgrades policy         upgrade policies of clusters
          tidegate upgrades lint           labels that do not do what they seem to
          tidegate upgrades what-if        the effect of other labels

        Connect with --ocm-url (TIDEGATE_OCM_URL), --token (OCM_TOKEN) and --org.
        To rehearse: tidegate simulate upgrades examples/fortnight.yaml
        Read on: docs/guides/upgrades-for-owners.md, docs/concepts/upgrades.md
        """,
    ),
    "brakes": (
        "Ways to stop: hold, freeze, block, pin",
        """
        A brake keeps targets from starting. What has started finishes. Every brake has
        an owner and a reason, which `why` prints for every target that waits.

          hold     now, until it is removed   tidegate hold add NAME --everything ...
          freeze   at certain times           tidegate freeze add NAME --from T ...
          block    one revision, everywhere   tidegate block add REVISION ...
          pin      one target stays           tidegate pin TARGET ...

        Scope: --everything, --kind, --target, -l LABEL=VALUE.
        List them: tidegate get holds, freezes, blocks, pins.
        To stop one rollout: tidegate pause, tidegate abort.
        Without a database: an empty file that --hold-file names stops everything.
        Read on: docs/guides/brakes.md
        """,
    ),
    "journal": (
        "What was observed, decided and done",
        """
        Everything Tidegate observes, decides and does is an entry of the journal, in
        SQLite or PostgreSQL (--database). Entries are chained by hash. State is
        computed from the journal, and an action is recorded before it is done.

          tidegate journal show            the entries; -w follows
          tidegate journal verify          check the chain
          tidegate journal export          write it as JSON lines; also import, backup
          tidegate journal compact         drop old entries, keep the state
          tidegate replay                  repeat every decision with today's rules
          tidegate shadow                  compare decisions with another system

        Read on: docs/guides/journal.md
        """,
    ),
    "settings": (
        "Where settings come from, and which wins",
        """
        The first place that names a setting wins; lists are not merged.

          1. its flag
          2. its variable, TIDEGATE_...
          3. the project file: ./tidegate.yaml, --config FILE or TIDEGATE_CONFIG
          4. the user file: ~/.config/tidegate/config.yaml
          5. the default

          tidegate config view --show-origin    every setting and its origin

        Read on: docs/reference/settings.md
        """,
    ),
    "output": (
        "Tables, JSON, YAML, colour",
        """
        Data goes to stdout; progress, prompts and warnings go to stderr.

          -o table|wide|json|yaml|name     not every command has all of them
          -w, --watch                      print again when it changes
          --no-headers                     tables for scripts
          --color auto|always|never        auto respects NO_COLOR and FORCE_COLOR
          --yes                            do not ask; needed without a terminal
          --dry-run                        show what would be written; write nothing

        Fields of JSON and YAML are a public interface; sentences are not.
        """,
    ),
    "exit-codes": (
        "What an exit code means",
        """
          0    success
          1    failure; or diff, validate, lint or check found something
          2    wrong usage or wrong input; nothing was done
          3    a rollout failed, or verify found a difference
          4    not allowed: a service does not know you, or you lack the role
          70   check: the check itself is set up wrongly
          75   check: another system failed; retry
          124  --wait or --timeout timed out
          130  interrupted
        """,
    ),
}


def topic_text(name: str) -> str:
    """A topic as it is printed: its title, then its text."""
    import textwrap

    title, text = TOPICS[name]
    return f"{name}: {title}\n\n{textwrap.dedent(text.strip(chr(10))).rstrip()}"


class _Topic(click.ParamType[str]):
    """The name of a topic or of a command."""

    name = "topic"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Topics, then commands."""
        root = ctx.find_root().command
        commands = root.list_commands(ctx) if isinstance(root, click.Group) else []
        names = dict.fromkeys((*TOPICS, *commands))
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command(
    name="help",
    cls=Command,
    examples="""
    tidegate help                       the list of topics
    tidegate help brakes                one topic
    tidegate help upgrades policy set   the help of a command
    """,
)
@click.argument("words", nargs=-1, metavar="[TOPIC | COMMAND...]", type=_Topic())
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Explain a topic, or print the help of a command."""
    if not words:
        click.echo(fitted("\n".join(_contents()), terminal_width()))
    elif len(words) == 1 and words[0] in TOPICS:
        click.echo(fitted(topic_text(words[0]), terminal_width()))
    else:
        click.echo(_command_help(ctx, words))


def fitted(text: str, width: int | None) -> str:
    """A text of 80 columns on fewer: paragraphs flow, and a row goes on below what it says."""
    lines = text.splitlines()
    if width is None or max(map(len, lines)) <= width:
        return text
    whole: list[str] = []
    before = ""
    for line in lines:
        word = line.split(" ", 1)[0]
        # The word did not fit above: it is the same paragraph.
        if before and word and len(before) + 1 + len(word) > _COLUMNS and before[0] != " ":
            whole[-1] += f" {line}"
        else:
            whole.append(line)
        before = line
    return "\n".join(part for line in whole for part in _folded(line, width))


def _folded(line: str, width: int) -> list[str]:
    import textwrap

    row = _ROW.match(line)
    below = " " * (row.end() if row is not None and row.end() < width - 12 else 4)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=below if line.startswith(" ") else "",
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    ) or [""]


def _contents() -> list[str]:
    width = max(map(len, TOPICS))
    return [
        "Topics:",
        *(f"  {name.ljust(width)}  {title}" for name, (title, _) in TOPICS.items()),
        "",
        "tidegate help TOPIC explains one; tidegate --help lists the commands.",
    ]


def _command_help(ctx: click.Context, words: Sequence[str]) -> str:
    """The help of the command that the words lead to."""
    context = ctx.find_root()
    for word in words:
        below = context_below(context, word)
        if below is None:
            raise click.UsageError(_unknown(context, word), ctx)
        context = below
    return context.get_help()


def _unknown(context: click.Context, word: str) -> str:
    """What there is in place of an unknown topic or command."""
    known = isinstance(context.command, LazyGroup) and word in context.command.elsewhere
    if context.parent is None and not known and (topic := nearest_name(word, TOPICS)):
        return f'no topic or command "{word}"; did you mean "{topic}"?'
    if isinstance(context.command, LazyGroup):
        return f'no topic or command "{word}"; {context.command.suggestion(context, word)}'
    return f'no command "{word}" below `{context.command_path}`'
