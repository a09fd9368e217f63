"""Callers that others vouch for: people of an issuer, service accounts of a cluster.

What they may do is what the policy file grants to their name and to their groups; without a grant
they may do nothing.
"""

from msgspec.structs import replace

from tidegate.access.policy_doc import AccessPolicy
from tidegate.access.roles import Caller, grants_of
from tidegate.access.sessions import SessionStarted
from tidegate.kubernetes.review_port import ReviewedToken
from tidegate.oidc.identity import Identity, LoginRefusedError

_ACCOUNT = "system:serviceaccount:"


def person(identity: Identity, policy: AccessPolicy) -> Caller:
    """The caller that a token of an issuer names."""
    via = f"oidc {identity.issuer}, subject {identity.subject}"
    return _caller(f"user:{identity.name}", identity.groups, via, policy)


def session_person(session: SessionStarted, policy: AccessPolicy) -> Caller:
    """The caller of a browser, as the issuer named them when they logged in."""
    via = f"oidc {session.issuer}, subject {session.subject}, session {session.hash[:12]}"
    return _caller(f"user:{session.name}", session.groups, via, policy)


def service_account(
    review: ReviewedToken, audience: str, cluster: str, policy: AccessPolicy
) -> Caller:
    """The caller that a cluster knows; LoginRefusedError if the token is not for us."""
    if not review.username:
        raise LoginRefusedError(f"{cluster} does not know the token, or it is not for {audience}")
    if audience not in review.audiences:
        raise LoginRefusedError(f"the token is not made for {audience}")
    if not review.username.startswith(_ACCOUNT):
        raise LoginRefusedError(f"{review.username} is no service account of {cluster}")
    name = review.username.removeprefix(_ACCOUNT)
    via = f"service account {name} of the cluster {cluster}"
    return _caller(f"serviceaccount:{name}", review.groups, via, policy)


def _caller(actor: str, groups: tuple[str, ...], via: str, policy: AccessPolicy) -> Caller:
    subjects = (actor, *(f"group:{each}" for each in groups))
    return bound(Caller(actor=actor, via=via, grants=grants_of(policy.grants, subjects)), policy)


def bound(caller: Caller, policy: AccessPolicy) -> Caller:
    """A caller under the rules of a policy file."""
    return replace(caller, four_eyes=policy.four_eyes, policy_grants=policy.grants)
