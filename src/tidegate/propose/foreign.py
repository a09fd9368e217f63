"""Work of other people on the branch of a merge request that we opened, in words."""

from tidegate.forge.port import MergeRequest
from tidegate.git.history import SHORT
from tidegate.git.port import Repository
from tidegate.propose.offer import PREFIX
from tidegate.propose.ownership import stranger


def foreign_work(repository: Repository, request: MergeRequest) -> tuple[str, str]:
    """The newest commit of a request's branch, and work on it that is not ours, in words.

    Both are empty where the branch is gone.
    """
    head = repository.pushed(request.source)
    if not head:
        return "", ""
    base = repository.tip(request.target)
    other = stranger(repository, base, head, request.source.removeprefix(PREFIX))
    if other is None:
        return head, ""
    return head, f'{other.sha[:SHORT]} "{other.subject}" by {other.author}'
