"""How merge requests of a pipeline are named, so that each is found again by any worker."""

import re

from tidegate.kinds.promotions.core.requests.model import ChannelPromotion
from tidegate.propose.branch_name import branch_part
from tidegate.propose.offer import PREFIX

# Every merge request of every pipeline has it.
LABEL = "tidegate-promotion"
# So many channels are named in a title; the rest is counted.
_NAMED_MAX = 3
_KEY = re.compile(r"[0-9a-f]{12}")


def branch_of(pipeline: str, key: str) -> str:
    """The branch of a request that is to be opened."""
    return f"{PREFIX}pipeline-{branch_part(pipeline)}-{key}"


def is_branch_of(pipeline: str, branch: str) -> bool:
    """Whether a branch is one that `branch_of` names."""
    start = branch_of(pipeline, "")
    return branch.startswith(start) and _KEY.fullmatch(branch.removeprefix(start)) is not None


def title_of(pipeline: str, branch: str, promotions: tuple[ChannelPromotion, ...]) -> str:
    """The title of a request: different for every branch, as one of the same title is the same."""
    names = ["+".join(each.channels) for each in promotions]
    more = len(names) - _NAMED_MAX
    shown = ", ".join(names[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
    return f"{pipeline}: promote {shown} ({branch[-8:]})"
