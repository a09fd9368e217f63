"""Plans the revert of a commit that is merged and not promoted."""

import asyncio
from collections.abc import Mapping

import msgspec

from tidegate.explain.markup import code
from tidegate.forge.port import Forge
from tidegate.git.history import SHORT, Ancestry, Commit
from tidegate.git.port import Repository
from tidegate.kinds.promotions.app.checkout import PromotionCheckout
from tidegate.kinds.promotions.app.documents import Person, RevertedFile, RevertPlan
from tidegate.kinds.promotions.app.ports import PromotionPorts
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem
from tidegate.propose.offer import Offer


class PlannedRevert(msgspec.Struct, frozen=True):
    """The revert of one commit: its document, and where it is offered."""

    document: RevertPlan
    repository: Repository
    commit: Commit
    # The branch that it was planned on; empty: the one that changes are merged into.
    target: str = ""

    def offer(self, reason: str) -> Offer:
        """The revert, ready to be offered; its description mentions the author."""
        return msgspec.structs.replace(offer_of(self.commit, reason), target=self.target)


async def plan_revert(
    ports: PromotionPorts, revision: str, *, name: str | None, here: bool, target: str = ""
) -> PlannedRevert:
    """What the revert of a commit changes; UserError if the branch does not have the commit.

    `here`: a commit of the bundle, and not of the artifact. `target`: the branch to revert on,
    else the one that changes are merged into.
    """
    return await asyncio.to_thread(_plan, ports, revision, name, here, target)


def _plan(
    ports: PromotionPorts, revision: str, name: str | None, here: bool, target: str
) -> PlannedRevert:
    checkout = PromotionCheckout(ports, name)
    repository = checkout.repository if here else checkout.source
    sha = repository.resolve(revision)
    target = target or ("" if here else checkout.promotion.artifact.branch)
    tip = repository.tip(target)
    if repository.ancestry(sha, tip) not in (Ancestry.AHEAD, Ancestry.SAME):
        what = f"{sha[:10]} is not in {tip[:10]}: there is nothing to revert"
        raise UserError((Problem("", what, "name a commit of that branch"),))
    commit = repository.show(sha)
    files = repository.reverted(sha, tip)
    document = RevertPlan(
        sha=commit.sha,
        subject=commit.subject,
        author=Person(name=commit.author, email=commit.email),
        files=tuple(
            RevertedFile(path=path, deleted=content is None)
            for path, content in sorted(files.items())
        ),
    )
    return PlannedRevert(document, repository, commit, target)


def offer_of(commit: Commit, reason: str) -> Offer:
    """The revert of a commit as an offer."""
    said = f"\n\n{reason}" if reason else ""

    async def described(forge: Forge) -> str:
        author = await forge.mention(commit.author, commit.email)
        why = f"\n\n{code(reason)}" if reason else ""
        return f"Undoes {commit.sha}, {code(commit.subject)} by {author}.{why}\n"

    def files(repository: Repository, base: str) -> Mapping[str, bytes | None]:
        return repository.reverted(commit.sha, base)

    return Offer(
        title=f'Revert "{commit.subject}"',
        description=described,
        key=f"revert-{commit.sha[:SHORT]}",
        files=files,
        message=f'Revert "{commit.subject}"\n\nThis reverts commit {commit.sha}.{said}\n',
    )
