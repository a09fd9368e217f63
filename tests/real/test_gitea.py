"""The contract of forges on a real Gitea, so that ours for tests is not all that it is held to."""

import inspect
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.contract import test_forge as contract
from tests.contract.test_forge import Play, offered, proposal
from tests.forge.hosted import Hosted
from tests.forge.world import JANE
from tests.real.gitea import PATIENT, GiteaProject
from tidegate.forge.client.gitea import GiteaForge
from tidegate.model.errors import OutsideError

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("gitea")]

# Those of every forge; the others name the forges that they are about.
PROMISES = [
    promise
    for name, promise in sorted(vars(contract).items())
    if name.startswith("test_") and list(inspect.signature(promise).parameters) == ["play"]
]


@pytest.fixture
def play(play_gitea: Play) -> Play:
    """As the contract calls it."""
    return play_gitea


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__[5:])
def test_a_real_gitea_keeps_the_promise(promise: Callable[[Play], None], play: Play) -> None:
    """One after the other; the number of them is not nothing."""
    assert len(PROMISES) > 8
    promise(play)


def test_what_only_a_real_one_can_say(play: Play) -> None:
    """Pages of one entry, people by address and by name, and a comment with our mark."""

    async def story(project: Hosted) -> None:
        for i in range(3):
            offered(project, f"promote-{i}", f"a: {10 + i}\n")
            await project.forge.open(proposal(f"promote-{i}", f"title {i}", labels=("a", "b")))
        assert isinstance(project, GiteaProject)
        slowly = GiteaForge(*project.access, replace(PATIENT, page=1))
        (found,) = await slowly.find(title="title 0")
        assert (found.source, set(found.labels)) == ("promote-0", {"a", "b"})
        hers = "<!-- tidegate:preview -->\nhers"
        await project.say(found.number, hers)
        await slowly.comment(found.number, "preview", "ours")
        await slowly.comment(found.number, "preview", "ours again")
        said = await project.comments(found.number)
        assert said == [hers, "<!-- tidegate:preview -->\nours again"]
        assert await slowly.mention("Somebody Else", JANE.email) == f"@{JANE.login}"
        assert await slowly.mention(JANE.name, "jane@elsewhere.example") == f"@{JANE.login}"
        assert await slowly.mention("Jane", "") == "Jane"
        await slowly.close()
        wrong = GiteaForge(*project.access[:2], "0" * 40, PATIENT)
        with pytest.raises(OutsideError, match=r"HTTP 401 .*check forgeToken"):
            await wrong.find(title="title 0")
        await wrong.close()

    play(story)
