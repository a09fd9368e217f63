"""The description of a pipeline's merge request says what people need to decide about it."""

from msgspec.structs import replace

from tidegate.git.history import Commit
from tidegate.kinds.promotions.app.ports import ReachedShards
from tidegate.kinds.promotions.app.requests.names import branch_of, is_branch_of, title_of
from tidegate.kinds.promotions.app.requests.text import RequestFacts, commit_message, description
from tidegate.kinds.promotions.core.channels.reasons import ChannelReason
from tidegate.kinds.promotions.core.compat.names import ConfigHash
from tidegate.kinds.promotions.core.requests.model import SubscriberChange, promotion_of
from tidegate.kinds.promotions.core.requests.reasons import RequestReason
from tidegate.model.time import SECOND, Instant
from tidegate.model.verdict import verdict

URL, OLD, NEW = "https://git.example.com/web/app", "a" * 40, "b" * 40
HOUR = 3600 * SECOND
CHANGES = tuple(
    SubscriberChange(
        file=f"data/{name}.yml", template="app", namespace="/ns.yml", name=name, old=OLD,
        version=NEW, repository=URL,
    )
    for name in ("ants", "bees")
)  # fmt: skip
PROMOTION = promotion_of(("web-stage", "web-e2e"), CHANGES)
SOAK = verdict(ChannelReason.PublishersSoaked, NEW[:7], 48 * HOUR)
DEPLOYED = verdict(ChannelReason.PublishersDeployed, 2, NEW[:7])
COMMIT = Commit(
    sha="c0ffee" + "0" * 34, author="Bob", email="bob@example.com", at=Instant(0),
    subject="fix `it` @all <!-- tidegate-pipeline {} -->",
)  # fmt: skip
FACTS = RequestFacts(
    pipeline="web",
    promotions=(PROMOTION,),
    commits={(URL, OLD, NEW): (COMMIT,)},
    mentions={"bob@example.com": "@bob"},
    said={"ants": (DEPLOYED, SOAK), "bees": (DEPLOYED, SOAK)},
    reached=(ReachedShards(environment="prod", shards=("a", "b"), clusters=("one",)),),
    opened=verdict(RequestReason.RequestHalved, 1, 2, "!7"),
    picture="https://tidegate.example/picture/x.svg",
)


def test_everything_that_was_asked_for_is_in_it() -> None:
    """Version, link, commits by author, soak, shards, and what `why` says; alike is said once."""
    lines = description(FACTS).splitlines()
    subject = "fix &#96;it&#96; &#64;all &#60;&#33;&#45;&#45; tidegate&#45;pipeline"
    for expected in (
        "It is offered with 1 of the 2 promotions that failed together in !7.",
        "![the pipeline when this was offered](https://tidegate.example/picture/x.svg)",
        "### `web-e2e` + `web-stage`",
        f"| `ants` | `data/ants.yml` | `aaaaaaa` | `{NEW}` |",
        f"| `bees` | `data/bees.yml` | `aaaaaaa` | `{NEW}` |",
        f"Compare [aaaaaaa … bbbbbbb]({URL}/compare/{OLD}...{NEW})",
        "- @bob",
        f"  - `c0ffee0` <code>{subject} &#123;&#125; &#45;&#45;&#62;</code>",
        "Soak of `ants and 1 more`: `every publisher has run bbbbbbb for 2d without a break`",
        "<details><summary>Why now: ants and 1 more</summary>",
        "- ✓ order: `2 publishers deployed bbbbbbb`",
        "**`prod`**: 2 shards on `one`",
    ):
        assert lines.count(expected) == 1, (expected, lines)


def test_a_repository_that_cannot_be_read_is_said() -> None:
    """And no commits are made up."""
    text = description(RequestFacts(pipeline="web", promotions=(PROMOTION,)))
    assert f"The commits between them could not be read from `{URL}`." in text


def test_a_request_is_named_by_what_it_holds() -> None:
    """Its branch leads back to its pipeline, and no other does; the title differs by branch."""
    branch = branch_of("Web x", "0123456789ab")
    assert branch == "tidegate/pipeline-web-x-0123456789ab"
    assert is_branch_of("Web x", branch)
    assert not is_branch_of("Web", branch)
    assert not is_branch_of("Web x", branch_of("Web x", "0123456789zz"))
    assert title_of("Web x", branch, (PROMOTION,) * 5) == (
        "Web x: promote web-e2e+web-stage, web-e2e+web-stage, web-e2e+web-stage and 2 more "
        "(456789ab)"
    )
    assert commit_message("t", (PROMOTION,)) == (
        f"t\n\nweb-e2e+web-stage: aaaaaaa -> bbbbbbb {URL}/compare/{OLD}...{NEW}\n"
    )


def test_a_configuration_is_named_and_is_no_step_between_versions() -> None:
    """No link that compares a version with itself, and no commits of it."""
    config = ConfigHash("web-stage", "saas-web", "0123abcd")
    one = replace(CHANGES[0], version=OLD, hashes=(config,))
    promotion = promotion_of(("web-stage",), [one])
    text = description(RequestFacts(pipeline="web", promotions=(promotion,)))
    assert f"| `aaaaaaa` | `{OLD}`, configured as `saas-web 0123abcd` |" in text
    assert "compare" not in text
    assert "could not be read" not in text


def test_a_new_request_repeats_nothing_about_itself() -> None:
    """Why it holds just these is said of a half of a batch alone."""
    found = description(replace(FACTS, opened=verdict(RequestReason.RequestNew, 1)))
    assert "It is offered" not in found
