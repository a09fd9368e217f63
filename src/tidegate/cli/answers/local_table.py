"""Every command that asks no service, and why; all others take `--server`.

docs/reference/services.md is made from it, and a test holds it against the commands there are.
"""

_FILES = "reads a bundle and its repository on this machine"
_CLUSTERS = "reads a bundle on this machine, and clusters with your own credentials"
_ACTS = "changes clusters with your own credentials: a service acts by its workers alone"
_FORGE = "edits a repository and asks a forge with your own credentials"
_GATES = (
    "shows texts and dates of version gates, which surveys do not record: it asks OpenShift"
    " Cluster Manager with the credentials of the owner of the clusters"
)
_SYNC = (
    "reads a bundle on this machine, and writes labels at OpenShift Cluster Manager with the"
    " credentials of their owner"
)
_AGREES = (
    "acknowledges for good at OpenShift Cluster Manager, which only the owner of the clusters may"
)
_HUB = "reads files of policies on this machine, and a hub with your own credentials"
_HUB_ACTS = "changes objects of a hub with your own credentials"
_LOGIN = "keeps logins at services in a file of yours"
_DATABASE = "copies the database itself, with its chains and claims: run it where the database is"
_WORKER = "is itself what a service runs"
_SIMULATED = "simulates on this machine"
_LINES = "decides what it is given on stdin, by the rules of this machine"
_PROGRAM = "is about this program"

LOCAL: dict[str, str] = {
    "get shards": _CLUSTERS,
    "logs": _CLUSTERS,
    "verify": _CLUSTERS,
    "validate": _FILES,
    "plan": _CLUSTERS,
    "diff": _CLUSTERS,
    "apply": _ACTS,
    "release": _ACTS,
    "upgrades policy sync": _SYNC,
    "upgrades gates get": _GATES,
    "upgrades gates agree": _AGREES,
    "upgrades soak import": (
        "takes over files of AUS before a worker leads an organisation: run it where the database"
        " is"
    ),
    "policies plan": _HUB,
    "policies diff": _HUB,
    "policies adopt": _HUB_ACTS,
    "policies leave": _HUB_ACTS,
    "policies crd": _PROGRAM,
    "promote schemas": _PROGRAM,
    "pending": _FILES,
    "revert": _FORGE,
    "check": "dry-runs integrations on this machine, for a pipeline of a merge request",
    "preview": _FILES,
    "run": _WORKER,
    "serve": _WORKER,
    "login": _LOGIN,
    "logout": _LOGIN,
    "context list": _LOGIN,
    "context use": _LOGIN,
    "context remove": _LOGIN,
    "journal export": _DATABASE,
    "journal import": _DATABASE,
    "journal backup": _DATABASE,
    "journal compact": "drops entries of the database for good: run it where the database is",
    "simulate": _SIMULATED,
    "simulate ocm": _SIMULATED,
    "simulate upgrades": _SIMULATED,
    "simulate policies": _SIMULATED,
    "simulate page": _SIMULATED,
    "fleet": _SIMULATED,
    "clusters simulate": _SIMULATED,
    "decide rollout": _LINES,
    "decide placement": _LINES,
    "decide shards": _LINES,
    "decide upgrades": _LINES,
    "decide promotions": _LINES,
    "completion": _PROGRAM,
    "help": _PROGRAM,
    "version": _PROGRAM,
}


def local_reason(path: str) -> str:
    """Why a command asks no service, by its words or the last of them; empty: it asks one."""
    for name, reason in LOCAL.items():
        if name == path or name.endswith(f" {path}"):
            return reason
    return ""
