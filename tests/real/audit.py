"""What an account asked of an API server, by the server's own audit log, beside what it may."""

import json
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from tests.real.chart import Document

# Every request with its verb and its answer, without bodies.
_POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, Panic]
rules: [{level: Metadata}]
"""


class Right(NamedTuple):
    """One verb on one resource: in all namespaces, or in those that it is bound in."""

    everywhere: bool
    resource: str
    verb: str


class Audit:
    """The log of one server; `flags` start it."""

    def __init__(self, folder: Path) -> None:
        self._log, policy = folder / "audit.log", folder / "audit.yaml"
        policy.write_text(_POLICY, encoding="utf-8")
        self.flags = (
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self._log}",
            "--audit-log-mode=blocking",
        )

    def asked(self, account: str) -> tuple[set[Right], set[Right]]:
        """The rights that an account used, and those that it was refused."""
        used: set[Right] = set()
        refused: set[Right] = set()
        with self._log.open(encoding="utf-8") as lines:
            for line in lines:
                if not line.endswith("\n"):
                    break  # It is being written.
                event: dict[str, Any] = json.loads(line)
                of = event.get("objectRef")
                if event["user"]["username"] != account or not of:
                    continue
                right = Right(not of.get("namespace"), _resource(of), event["verb"])
                code = event["responseStatus"]["code"]
                (refused if code == 403 else used).add(right)
                if code == 201 and event["verb"] == "patch":
                    # Applying what is not there is allowed by this one, besides.
                    used.add(right._replace(verb="create"))
        return used, refused


def _resource(of: dict[str, str]) -> str:
    parts = (of.get("apiGroup", ""), of["resource"], of.get("subresource", ""))
    return "/".join(part for part in parts if part)


def unused(given: Iterable[Right], used: set[Right]) -> set[Right]:
    """What was granted for nothing; what holds everywhere holds in a namespace, too."""
    return {
        each
        for each in given
        if each not in used and not (each.everywhere and each._replace(everywhere=False) in used)
    }


def granted(documents: Iterable[Document], account: str) -> set[Right]:
    """The rights that the objects of a chart give an account."""
    return {
        Right(not each["namespace"], _resource({"apiGroup": each["group"], **each}), each["verb"])
        for each in reviewed(documents, account)
    }


def reviewed(documents: Iterable[Document], account: str) -> Iterator[dict[str, str]]:
    """What those rights are for, as an access review names it."""
    known = list(documents)
    roles = {each["metadata"]["name"]: each for each in known if each["kind"] == "ClusterRole"}
    for each in known:
        if "roleRef" not in each or account not in {e["name"] for e in each["subjects"]}:
            continue
        everywhere = each["kind"] == "ClusterRoleBinding"
        namespace = "" if everywhere else each["metadata"]["namespace"]
        for rule in roles[each["roleRef"]["name"]]["rules"]:
            for group, named, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"]):
                resource, _, part = named.partition("/")
                of = {"group": group, "resource": resource, "subresource": part}
                yield {"namespace": namespace, "verb": verb, **of}
