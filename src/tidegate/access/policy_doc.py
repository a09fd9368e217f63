"""The policy file: how callers log in, which subjects have which role, and where.

oidc: {issuer: https://dex.example, clientId: tidegate}      # `login_doc.py` has all of it
kubernetes: {context: in-cluster}
grants:
  - role: approver
    subjects: [group:payments]
    kinds: [upgrades]
    organisations: [o-payments]
    environments: [prod]
    rollouts: [upgrades/prod/o-payments]
    groups: [prod]
    selector: {matchLabels: {sector: eu}}
fourEyes:
  - kinds: [policies]                                        # as in a grant
    gates: [change-board]                                    # none: every gate, and every group
"""

from collections.abc import Mapping

import msgspec

from tidegate.access.login_doc import KubernetesLogin, OidcLogin, read_kubernetes, read_oidc
from tidegate.access.roles import FourEyesRule, Grant, GrantScope, Role
from tidegate.documents.reader import Reader
from tidegate.documents.scope_doc import read_kinds, read_selector
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems, nearest, shown

_SUBJECTS = ("user:", "group:", "token:", "serviceaccount:")


class AccessPolicy(msgspec.Struct, frozen=True):
    """What a policy file gives; by default nothing."""

    grants: tuple[Grant, ...] = ()
    # None: no login of this kind.
    oidc: OidcLogin | None = None
    kubernetes: KubernetesLogin | None = None
    four_eyes: tuple[FourEyesRule, ...] = ()


def read_policy(data: Mapping[str, object], where: str) -> AccessPolicy:
    """The policy in a document; UserError lists all that is wrong with it."""
    problems = Problems()
    reader = Reader(data, "", problems)
    grants = tuple(_grant(each) for each in reader.children("grants"))
    oidc = read_oidc(reader.child("oidc")) if reader.has("oidc") else None
    cluster = read_kubernetes(reader.child("kubernetes")) if reader.has("kubernetes") else None
    rules = tuple(_four_eyes(each) for each in reader.children("fourEyes"))
    reader.close()
    _check_effect(grants, oidc, cluster, problems)
    if problems.errors:
        raise UserError(tuple(problems.errors), where)
    return AccessPolicy(grants, oidc, cluster, rules)


def _check_effect(
    grants: tuple[Grant, ...],
    oidc: OidcLogin | None,
    cluster: KubernetesLogin | None,
    problems: Problems,
) -> None:
    """A grant to a caller that cannot log in has no effect, and is a mistake."""
    logins = {"user:": (oidc,), "group:": (oidc, cluster), "serviceaccount:": (cluster,)}
    needs = {"user:": "oidc", "group:": "oidc or kubernetes", "serviceaccount:": "kubernetes"}
    for i, grant in enumerate(grants):
        for each in grant.subjects:
            kind = next((word for word in logins if each.startswith(word)), "")
            if kind and not any(logins[kind]):
                what = f"{shown(each)} cannot log in, so this has no effect"
                problems.add(f"grants[{i}].subjects", what, f"add {needs[kind]}, or drop it")


def _four_eyes(reader: Reader) -> FourEyesRule:
    rule = FourEyesRule(scope=_scope(reader), gates=tuple(reader.texts("gates")))
    reader.close()
    return rule


def _grant(reader: Reader) -> Grant:
    subjects = tuple(reader.texts("subjects"))
    for each in subjects:
        if not each.startswith(_SUBJECTS):
            what = f"{shown(each)} is no subject"
            remedy = "write user:NAME, group:NAME, token:NAME or serviceaccount:NAMESPACE:NAME"
            if each.startswith("system:serviceaccount:"):
                remedy = f"write {each.removeprefix('system:')}"
            reader.problems.add(reader.at("subjects"), what, remedy)
    if not subjects:
        reader.problems.add(reader.at("subjects"), "is empty", "name who gets the role")
    grant = Grant(role=_role(reader), subjects=subjects, scope=_scope(reader))
    reader.close()
    return grant


def _role(reader: Reader) -> Role:
    word = reader.text("role") or ""
    known = {each.value: each for each in Role}
    if word not in known:
        remedy = nearest(word, known) or f"write one of {', '.join(known)}"
        reader.problems.add(reader.at("role"), f"{shown(word)} is no role", remedy)
    return known.get(word, Role.VIEWER)


def _scope(reader: Reader) -> GrantScope:
    selector = read_selector(reader.child("selector")) if reader.has("selector") else None
    return GrantScope(
        kinds=frozenset(each.value for each in read_kinds(reader)),
        rollouts=tuple(reader.texts("rollouts")),
        organisations=tuple(reader.texts("organisations")),
        environments=tuple(reader.texts("environments")),
        groups=tuple(reader.texts("groups")),
        selector=selector,
    )
