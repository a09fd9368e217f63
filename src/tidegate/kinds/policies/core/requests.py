"""What is asked of a rollout in its document, as the requests that commands make.

A document says what is approved; the journal, who approved what and when. So only what is new in
the document is taken over: what a person revokes by a command stays revoked until the document
changes.
"""

from collections.abc import Collection, Iterator

from tidegate.journal.facts import Asked, Verb
from tidegate.kinds.rollouts.core.journal.facts import DeclaredRequests
from tidegate.kinds.rollouts.core.strategy import Rollout

NOTHING = DeclaredRequests()


def requests_of(
    approved: frozenset[str],
    ungrouped: bool,
    approvals_for: str | None,
    version: str | None,
    revision: str,
    *,
    paused: bool = False,
    retry: str = "",
    failed_only: bool = False,
    retry_group: str = "",
) -> DeclaredRequests:
    """What a document asks. Approvals for a version count for the revision that has it now."""
    counts = approvals_for is None or approvals_for == version
    names = [*sorted(approved), *(["ungrouped"] if ungrouped else [])]
    return DeclaredRequests(
        approved=tuple(names) if counts else (),
        version=None if approvals_for is None or not names else revision,
        paused=paused,
        retry=retry,
        failed_only=failed_only,
        retry_group=retry_group,
    )


def new_requests(
    before: DeclaredRequests | None,
    now: DeclaredRequests | None,
    rollout: Rollout,
    revision: str,
    origin: str,
    groups: Collection[str],
) -> Iterator[Asked]:
    """The requests in which a document differs from what it was.

    One group is retried only if there is such a group: a name that is wrong retries nothing.
    """
    old, new = before or NOTHING, now or NOTHING
    given = old.approved if old.version == new.version else ()
    approved = tuple(each for each in new.approved if each not in given)
    revoked = tuple(each for each in old.approved if each not in new.approved)
    if revoked:
        yield Asked(verb=Verb.REVOKE, groups=revoked, reason=origin)
    if approved:
        yield Asked(verb=Verb.APPROVE, groups=approved, version=new.version, reason=origin)
    if new.paused != old.paused:
        yield Asked(verb=Verb.PAUSE if new.paused else Verb.RESUME, reason=origin)
    # It names the rollout it is for, so that it is taken up once; the first one has no identity
    # but its revision.
    wanted = rollout.uid if rollout.uid is not None else revision
    if new.retry == wanted and _retry(new) != _retry(old):
        verb = Verb.RETRY_FAILED if new.failed_only else Verb.RETRY
        named = (new.retry_group,) if new.retry_group else ()
        if all(each in groups for each in named):
            yield Asked(verb=verb, groups=named, reason=origin)


def _retry(asked: DeclaredRequests) -> tuple[str, bool, str]:
    """What is to be retried: of one rollout, several groups may be, one after the other."""
    return asked.retry, asked.failed_only, asked.retry_group
