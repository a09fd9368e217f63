"""Reads what the description of a pipeline's merge request is made of: files, reach, commits."""

import asyncio
from collections.abc import Mapping

from tidegate.forge.port import Forge
from tidegate.git.history import Commit
from tidegate.kinds.promotions.app.ports import ChangeReach, PromotionPorts
from tidegate.kinds.promotions.app.requests.text import RequestFacts, VersionStep, steps_of
from tidegate.kinds.promotions.core.authors import authors_of
from tidegate.kinds.promotions.core.requests.model import ChannelPromotion
from tidegate.kinds.promotions.files.files import Files, root_in
from tidegate.kinds.promotions.files.subscriber_edits import edited_subscribers
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.verdict import Verdict

Promotions = tuple[ChannelPromotion, ...]


def promoted_files(
    ports: PromotionPorts, promotions: Promotions, base: str
) -> Mapping[str, bytes | None]:
    """What files become on a commit of the bundle."""
    files = Files(ports.bundle, base, root_in(ports.bundle.prefix))
    made = edited_subscribers(files, promotions)
    changed = {f"{files.root}{path}": each.data for path, each in made.items()}
    return dict(ports.with_holds(base, changed))


async def read_facts(
    ports: PromotionPorts,
    forge: Forge,
    pipeline: str,
    promotions: Promotions,
    said: Mapping[str, tuple[Verdict, ...]],
    opened: Verdict | None,
) -> RequestFacts:
    """All that the description says; UserError if the bundle would have new errors."""
    reach = await asyncio.to_thread(_reach, ports, promotions)
    if reach.new_errors:
        raise UserError(reach.new_errors, where="the bundle would have new errors")
    commits = await asyncio.to_thread(_commits, ports, promotions)
    mentions = {
        author.email: await forge.mention(author.name, author.email)
        for author in authors_of(one for some in commits.values() for one in some)
    }
    return RequestFacts(
        pipeline=pipeline,
        promotions=promotions,
        commits=commits,
        mentions=mentions,
        said=said,
        reached=reach.reached,
        opened=opened,
    )


def _reach(ports: PromotionPorts, promotions: Promotions) -> ChangeReach:
    base = ports.bundle.tip()
    files = promoted_files(ports, promotions, base)
    changed = {path: new for path, new in files.items() if new is not None}
    return ports.reach(base, changed) if changed else ChangeReach()


def _commits(
    ports: PromotionPorts, promotions: Promotions
) -> dict[VersionStep, tuple[Commit, ...]]:
    """The commits of every step, as far as its repository can be read."""
    found: dict[VersionStep, tuple[Commit, ...]] = {}
    for step in dict.fromkeys(step for each in promotions for step in steps_of(each)):
        url, old, new = step
        try:
            repository = ports.repositories.artifact(ports.artifact_address or url)
            repository.fetch()  # a worker opened it without
            found[step] = repository.between(old, new)
        except (OutsideError, UserError):
            continue
    return found
