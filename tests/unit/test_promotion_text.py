"""What a merge request says of a promotion, whatever people call their commits."""

from hypothesis import given
from hypothesis import strategies as st

from tidegate.git.history import Commit
from tidegate.kinds.promotions.app.ports import ReachedShards
from tidegate.kinds.promotions.app.proposal_text import (
    ProposalFacts,
    commit_message,
    description,
    key,
    title,
)
from tidegate.kinds.promotions.core.authors import authors_of
from tidegate.kinds.promotions.core.model import CommitForm, WrittenVersion, compare_link
from tidegate.model.time import Instant
from tidegate.propose.branch_name import branch_part

OLD, NEW = "a" * 40, "b" * 40
HELD = WrittenVersion(
    environment="jenkins", file="d.yml", line=3, value=OLD[:7], form=CommitForm.SAME
)


def commit(subject: str, author: str = "Ann", body: str = "", at: int = 0) -> Commit:
    """A commit of a person's."""
    name = f"{subject}{author}{at}".encode().hex()[:40].ljust(40, "0")
    mail = f"{author.lower()}@example.com"
    return Commit(sha=name, author=author, email=mail, at=Instant(at), subject=subject, body=body)


def facts(*commits: Commit, **more: object) -> ProposalFacts:
    """A promotion of these."""
    return ProposalFacts(
        name="reconcile",
        version=NEW,
        environments=("jenkins", "tekton"),
        edits=(HELD,),
        authors=authors_of(commits),
        **more,  # type: ignore[arg-type]
    )


def test_all_of_it_is_reported() -> None:
    told = description(
        facts(
            commit("mend", "Ann", at=1),
            commit("break", "Ben", "Co-authored-by: Ann <ann@example.com>", at=2),
            mentions={"ann@example.com": "@ann"},
            links={OLD: compare_link("https://git.example.com/r.git", OLD, NEW)},
            reached=(
                ReachedShards(
                    environment="production",
                    shards=("tf/a", "tf/b"),
                    clusters=("one",),
                    pinned=(("tf/c", "tf.yml:7"),),
                ),
            ),
            warnings=("odd",),
            reason="inc-42",
        )
    )
    assert told == (
        f"""Version `{NEW}`.

`inc-42`

- **Check this:** `odd`

| environment | file | now | then |
| --- | --- | --- | --- |
| `jenkins` | `d.yml:3` | `aaaaaaa` | `bbbbbbb` |

**`production`**: 2 shards on `one`

1 shard with an image of its own stays:
- `tf/c` (`tf.yml:7`)

2 commits by 2 people go out; their approval is not required:

- @ann
  - `{commit("break", "Ben", at=2).sha[:7]}` `break`
  - `{commit("mend", at=1).sha[:7]}` `mend`
- `Ben`
  - `{commit("break", "Ben", at=2).sha[:7]}` `break`

- [aaaaaaa … bbbbbbb](https://git.example.com/r/compare/{OLD}...{NEW})
"""
    )


def test_a_newer_version_has_the_same_title_and_branch() -> None:
    assert title(facts()) == "promote reconcile to jenkins, tekton"
    assert key(facts()) == "promote-reconcile-to-jenkins-tekton"
    assert commit_message(facts(reason="why")).endswith("\n\nwhy\n")


@given(st.text())
def test_a_branch_is_named_in_plain_letters(text: str) -> None:
    assert set(branch_part(text)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert not branch_part(text).startswith("-")


def test_a_clone_on_a_disk_has_no_page_to_compare_on() -> None:
    assert compare_link("/somewhere/r.git", OLD, NEW) == ""
