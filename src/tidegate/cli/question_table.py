"""Every command, by what it changes and when it asks first; docs/reference/questions.md is made
from it, and a test holds it against the commands there are.
"""

from typing import NamedTuple

from tidegate.cli.prompt import FREE


class Question(NamedTuple):
    """What a command changes, when it asks before, and what it does without a terminal."""

    changes: str
    asks: str
    alone: str


_MANY = f"for more than {FREE} targets"
_ALWAYS = "always"
_NEVER = "never"
_YES = "needs `--yes`"
_GOES_ON = "goes on"
_MOVES = f"{_MANY}, if something starts at once"
_CLUSTERS = f"for more than {FREE} clusters"

_LABELS = Question("labels at OpenShift Cluster Manager", _CLUSTERS, _YES)
_BRAKE = Question(
    "records a brake: less starts",
    _MANY,
    f"{_GOES_ON}; with `--replace` it {_YES} where more starts than before",
)
_LIFT = Question("records that a brake is lifted: more may start", _MOVES, _YES)
_FILES = Question("files of a repository; a branch, a merge request", "before it pushes", _YES)
_WORKER = Question("records; with `--act` also the outside, as the rules allow", _NEVER, _GOES_ON)

QUESTIONS: dict[str, Question] = {
    "apply": Question("workloads on clusters; records it", _ALWAYS, _YES),
    "release": Question("labels of workloads on clusters; records it", _ALWAYS, _YES),
    "approve": Question("records an approval: more may start", _MANY, _YES),
    "reject": Question("records an answer: less starts", _MANY, _GOES_ON),
    "revoke": Question("records an answer: less starts", _MANY, _GOES_ON),
    "retry": Question("records a request: targets start again", _MANY, _YES),
    "pause": Question("records a request: less starts", _MANY, _GOES_ON),
    "resume": Question("records a request: more may start", _MANY, _YES),
    "withdraw": Question("records that a requested change is not wanted", _MOVES, _YES),
    "abort": Question("records a request: ends a rollout, rolls back", _ALWAYS, _YES),
    "token create": Question("records a token: its holder may do more", _NEVER, _GOES_ON),
    "token revoke": Question("records that a token is revoked", _NEVER, _GOES_ON),
    "session end": Question("records that sessions are over", _NEVER, _GOES_ON),
    "login": Question("a file of yours: a token for a service", _NEVER, _GOES_ON),
    "logout": Question("a file of yours: forgets a login; ends it at its issuer", _NEVER, _GOES_ON),
    "context use": Question("a file of yours: which service is asked", _NEVER, _GOES_ON),
    "context remove": Question("a file of yours: forgets a service", _NEVER, _GOES_ON),
    "hold add": _BRAKE,
    "hold remove": _LIFT,
    "freeze add": _BRAKE,
    "freeze exempt": Question("records an exception: more may start", _MOVES, _YES),
    "freeze remove": _LIFT,
    "block add": _BRAKE,
    "block remove": _LIFT,
    "pin": Question(
        "records a brake: less starts; of shards: files of a repository, a merge request",
        f"{_MANY}; before it pushes",
        f"{_GOES_ON}; to push it {_YES}",
    ),
    "unpin": Question(
        "records that a brake is lifted: more may start; of shards: files of a repository, a merge"
        " request",
        f"{_MOVES}; before it pushes",
        _YES,
    ),
    "free": Question(
        "records that places are free: others may start",
        f"for more than {FREE} places; always where one is in use",
        _YES,
    ),
    "upgrades policy set": _LABELS,
    "upgrades policy remove": _LABELS,
    "upgrades policy sync": _LABELS,
    "upgrades sectors set": _LABELS,
    "upgrades sectors remove": _LABELS,
    "upgrades version-blocks add": _LABELS,
    "upgrades version-blocks remove": _LABELS,
    "upgrades version-blocks set": _LABELS,
    "upgrades inheritance add": _LABELS,
    "upgrades inheritance remove": _LABELS,
    "upgrades inheritance set": _LABELS,
    "upgrades gates approve": _LABELS,
    "upgrades gates agree": Question("agreements at OpenShift Cluster Manager", _CLUSTERS, _YES),
    "upgrades expedite add": Question("records that soak and windows are skipped", _ALWAYS, _YES),
    "upgrades expedite remove": Question("records that they are not any more", _NEVER, _GOES_ON),
    "upgrades soak import": Question(
        "records what has soaked elsewhere",
        f"for more than {FREE} organisations; always with `--replace`",
        _YES,
    ),
    "policies adopt": Question("objects on a hub, none on clusters; records it", _ALWAYS, _YES),
    "policies leave": Question("objects on a hub, none on clusters; records it", _ALWAYS, _YES),
    "promote": _FILES,
    "promote schemas": _FILES,
    "revert": _FILES,
    "promotions deployed": Question("records how a deployment went", _NEVER, _GOES_ON),
    "promotions evidence": Question("records a result of a version", _NEVER, _GOES_ON),
    "promotions lift": Question("records that a version may be promoted again", _ALWAYS, _YES),
    "check": Question("runs containers; with `--comment`, a comment", _NEVER, _GOES_ON),
    "preview": Question("with `--comment`, a comment", _NEVER, _GOES_ON),
    "verify": Question("records which versions run, in a journal that exists", _NEVER, _GOES_ON),
    "run": _WORKER,
    "serve": _WORKER,
    "journal import": Question("makes a journal; refuses one with the same", _NEVER, _GOES_ON),
    "journal backup": Question("makes a file; refuses one that exists", _NEVER, _GOES_ON),
    "journal export": Question("writes a file", _NEVER, _GOES_ON),
    "journal compact": Question("drops old entries for good", "where one goes", _YES),
    "upgrades soak export": Question("with `--to`, writes files", _NEVER, _GOES_ON),
}

# Commands that change nothing, but simulated fleets and files that they are told to write.
READS = frozenset(
    (
        "status", "get rollouts", "get policies", "get shards", "get clusters", "get promotions",
        "get holds",
        "get freezes", "get blocks", "get expedites", "get pins", "get claims", "show", "why",
        "token list", "session list", "context list", "auth can-i", "auth whoami",
        "promotions suspects",
        "when", "logs", "validate", "plan", "plan upgrades", "diff", "pending", "config view",
        "upgrades policy get", "upgrades sectors get", "upgrades version-blocks get",
        "upgrades inheritance get", "upgrades gates get", "upgrades report", "upgrades lint",
        "upgrades status", "upgrades what-if", "policies plan", "policies diff", "policies crd",
        "journal show", "journal verify", "replay", "shadow", "simulate",
        "simulate ocm", "simulate upgrades", "simulate policies", "simulate page", "changes",
        "fleet", "clusters simulate",
        "decide rollout",
        "decide placement", "decide promotions", "decide shards", "decide upgrades", "completion",
        "help", "version",
    )
)  # fmt: skip
