"""Roles, grants and callers: which right a caller has to which partition, group and target.

A role is a set of rights. A grant gives a role to subjects, for everything or for a scope. Rights
add up; there is no grant that takes one away. A caller without a grant may do nothing.
"""

import enum
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from tidegate.gates.scope import kind_words
from tidegate.model.selector import Selector


class Right(enum.Enum):
    """What a route needs."""

    VIEW = "view"
    # Answer for groups and gates.
    APPROVE = "approve"
    # Everything else that moves or stops a change.
    OPERATE = "operate"
    # Tokens, and what concerns the service.
    ADMINISTER = "administer"


class Role(enum.Enum):
    """What a grant gives."""

    VIEWER = "viewer"
    APPROVER = "approver"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def rights(self) -> frozenset[Right]:
        """All that it may."""
        return _RIGHTS[self]


_RIGHTS = {
    Role.VIEWER: frozenset((Right.VIEW,)),
    Role.APPROVER: frozenset((Right.VIEW, Right.APPROVE)),
    Role.OPERATOR: frozenset((Right.VIEW, Right.APPROVE, Right.OPERATE)),
    Role.ADMIN: frozenset(Right),
}


class GrantScope(msgspec.Struct, frozen=True, kw_only=True):
    """What a grant is for; what is left empty does not matter."""

    # integrations, policies, upgrades, promotions, simulated
    kinds: frozenset[str] = frozenset()
    # Patterns of partitions: upgrades/prod/o-payments, policies/*.
    rollouts: tuple[str, ...] = ()
    # Patterns of organisations and environments, by the labels of targets (`PLACES`).
    organisations: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    # Patterns of groups.
    groups: tuple[str, ...] = ()
    # Of the labels of targets.
    selector: Selector | None = None

    @property
    def is_everything(self) -> bool:
        """Whether it is for everything there is and will be."""
        return self == GrantScope()

    @property
    def is_of_partitions(self) -> bool:
        """Whether it is for all that is in a partition, if it is for the partition."""
        return not (self.organisations or self.environments or self.groups or self.selector)

    def has_partition(self, partition: str) -> bool:
        """Whether a partition, or something in it, may be in this scope."""
        if self.kinds and self.kinds.isdisjoint(kind_words(partition)):
            return False
        return not self.rollouts or any(fnmatchcase(partition, each) for each in self.rollouts)

    def has_target(self, group: str, labels: Mapping[str, str]) -> bool:
        """Whether a target is in this scope; what is not known of it matches nothing."""
        if not _matches(self.groups, (group,)):
            return False
        places = zip((self.organisations, self.environments), PLACES, strict=True)
        for patterns, names in places:
            if not _matches(patterns, (labels[name] for name in names if name in labels)):
                return False
        return self.selector is None or (bool(labels) and self.selector.matches(labels))

    def has(self, reached: "Reached") -> bool:
        """Whether a target of a partition is in this scope."""
        return self.has_partition(reached.partition) and self.has_target(
            reached.group, reached.labels
        )


# The labels that name the organisation and the environment of a target.
PLACES = (("org", "organisation", "organization"), ("env", "environment"))


def _matches(patterns: tuple[str, ...], names: Iterable[str]) -> bool:
    """Whether one of the names is like one of the patterns; no patterns: it does not matter."""
    if not patterns:
        return True
    return any(fnmatchcase(name, each) for name in names for each in patterns)


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A role for subjects, in a scope."""

    role: Role
    # user:alice, group:sre, token:ci, serviceaccount:ns:name; * matches any text.
    subjects: tuple[str, ...]
    scope: GrantScope = GrantScope()


class FourEyesRule(msgspec.Struct, frozen=True, kw_only=True):
    """Where an approval must be of another person than the one who proposed the revision."""

    scope: GrantScope = GrantScope()
    # Patterns of approval gates; empty: at every gate, and of every group.
    gates: tuple[str, ...] = ()


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """A person or a program, how it is known, and what it may."""

    # As the journal names it: user:alice, token:ci.
    actor: str
    # How it is known: a token, OIDC with its issuer, a service account.
    via: str
    grants: tuple[Grant, ...] = ()
    # Of a token: the actor that created it, for whom it acts.
    creator: str = ""
    # What the policy file says of approvals, and of all who may give them.
    four_eyes: tuple[FourEyesRule, ...] = ()
    policy_grants: tuple[Grant, ...] = ()

    def of(self, right: Right) -> tuple[GrantScope, ...]:
        """The scopes in which it has a right."""
        return tuple(each.scope for each in self.grants if right in each.role.rights)

    def sees(self, partition: str) -> bool:
        """Whether it may see a partition, or something in it."""
        return any(each.has_partition(partition) for each in self.of(Right.VIEW))

    def sees_all_of(self, partition: str) -> bool:
        """Whether it may see all that is in a partition."""
        mine = (each for each in self.of(Right.VIEW) if each.has_partition(partition))
        return any(each.is_of_partitions for each in mine)

    def sees_target(self, reached: "Reached") -> bool:
        """Whether it may see a target."""
        return any(each.has(reached) for each in self.of(Right.VIEW))

    @property
    def sees_everything(self) -> bool:
        """Whether nothing is kept from it."""
        return any(each.is_everything for each in self.of(Right.VIEW))


class Reached(msgspec.Struct, frozen=True):
    """One target that an act is about."""

    partition: str
    group: str
    target: str
    labels: Mapping[str, str]


def refusal(caller: Caller, right: Right, reached: Iterable[Reached] | None, what: str) -> str:
    """Why a caller may not do something; empty: it may.

    `reached`: what it is about; None: everything there is and will be.
    """
    scopes = caller.of(right)
    role = next(each.value for each in Role if right in each.rights)
    if not scopes:
        return f"{caller.actor} may not {what}: it needs the role {role}"
    if any(each.is_everything for each in scopes):
        return ""
    if reached is None:
        return f"{caller.actor} may not {what}: it needs the role {role} for everything"
    for each in reached:
        if not any(scope.has(each) for scope in scopes):
            seen = caller.sees_target(each)
            about = f"{each.target} of {each.partition}" if seen else "targets it does not see"
            return f"{caller.actor} may not {what} {about}: it needs the role {role} there"
    return ""


def grants_of(grants: Iterable[Grant], subjects: Iterable[str]) -> tuple[Grant, ...]:
    """The grants that are given to one of these subjects."""
    names = tuple(subjects)
    return tuple(
        grant
        for grant in grants
        if any(fnmatchcase(name, pattern) for pattern in grant.subjects for name in names)
    )
