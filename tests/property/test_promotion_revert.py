"""A promotion and its revert are the identity: not a byte of a saas file is left changed."""

from collections.abc import Iterable, Iterator, Mapping

from hypothesis import given
from hypothesis import strategies as st

from tests.pipelined import NEW, OLD, PROD, SAAS, TARGET, bundle_files, heads, saas_text
from tidegate.kinds.promotions.core.channels.sources import PipelineReading
from tidegate.kinds.promotions.core.requests.wanted import wanted_promotions
from tidegate.kinds.promotions.files.channels import read_channels
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.pipelines import pipelines
from tidegate.kinds.promotions.files.promoted_targets import PromotedTargets
from tidegate.kinds.promotions.files.subscriber_edits import edited_subscribers


class Kept:
    """The contents of one commit, in memory."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def files(self, commit: str) -> Mapping[str, str]:
        """Every path."""
        return dict.fromkeys(self._files, commit)

    def read(self, commit: str, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of some."""
        assert commit
        return ((path, self._files[path]) for path in paths)

    def holding(self, commit: str, *texts: str, under: str = "") -> tuple[str, ...]:
        """Those with one of the texts."""
        assert commit
        found = (path for path in self._files if path.startswith(under))
        return tuple(p for p in found if any(t.encode() in self._files[p] for t in texts))


def promoted(files: dict[str, bytes], version: str, names: frozenset[str]) -> dict[str, bytes]:
    """The files once some subscribers have a version."""
    found = Files(Kept(files), "c")
    reading = read(found)
    versions = {e.name: version for e in reading.subscribers if e.name in names}
    made = edited_subscribers(found, wanted_promotions(reading.subscribers, versions))
    return files | {path: each.data for path, each in made.items()}


def read(files: Files) -> PipelineReading:
    """The pipeline of the bundle."""
    (one,) = pipelines(files)
    return read_channels(files, one, PromotedTargets(files), heads())


@given(
    names=st.sampled_from([frozenset({PROD}), frozenset({PROD, "x"})]),
    quote=st.sampled_from(["", "'", '"']),
    comment=st.sampled_from(["", "  # moved by promotions", "   #"]),
    ending=st.sampled_from(["\n", "\r\n"]),
    more=st.sampled_from(["", "      soakDays: 3\n", "      schedule: '* 8 * * *'\n"]),
)
def test_a_promotion_and_its_revert_are_the_identity(
    names: frozenset[str], quote: str, comment: str, ending: str, more: str
) -> None:
    """However the line is written; and in between the version is the promoted one."""
    text = saas_text(more=more).replace(
        f"ref: {OLD}  # moved by promotions", f"ref: {quote}{OLD}{quote}{comment}"
    )
    texts = bundle_files(**{SAAS: text.replace("\n", ending)})
    before = {p: t.encode() if isinstance(t, str) else t for p, t in texts.items()}
    between = promoted(before, NEW, names)
    refs = {each.name: each.ref for each in read(Files(Kept(between), "c")).subscribers}
    assert refs[PROD] == NEW
    assert between[TARGET] == before[TARGET]
    assert promoted(between, OLD, names) == before
