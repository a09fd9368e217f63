"""Texts of the existing auto-promotions manager: read back as written, one for one content."""

import re
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tidegate.kinds.promotions.core.compat.batches import OpenRequest
from tidegate.kinds.promotions.core.compat.description import (
    SEPARATOR,
    FoundRequest,
    parse_requests,
    render_description,
)
from tidegate.kinds.promotions.core.compat.names import (
    ConfigHash,
    PromotedTarget,
    content_hash,
    request_title,
    target_uid,
)

# A comma separates names, a line break ends them, and a key in a name hides the key itself.
KEY = re.compile(r"(sapm_version|kind|content_hashes|channels|is_batchable): ")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = texts.filter(lambda text: text and "," not in text and "\n" not in text)
readable = names.filter(lambda text: not KEY.search(text))
some = st.frozensets(readable, min_size=1, max_size=7)


@dataclass(frozen=True)
class Written:
    """What a description says."""

    channels: frozenset[str]
    hashes: frozenset[str]
    batchable: bool


@given(st.builds(Written, some, some, st.booleans()), texts, st.booleans())
def test_a_description_is_read_back(written: Written, message: str, failed: bool) -> None:
    """Whatever the names are made of, and whatever a person reads above the separator."""
    text = render_description(
        message, written.channels, written.hashes, batchable=written.batchable
    )
    found = parse_requests([FoundRequest(description=text, failed=failed)])
    request = OpenRequest(written.hashes, written.channels, failed, written.batchable)
    assert (found.usable, found.closed) == (((0, request),), ())


@given(st.lists(st.builds(Written, some, some, st.booleans()), max_size=5), st.data())
def test_every_request_is_used_or_closed_or_not_ours(
    several: list[Written], data: st.DataObject
) -> None:
    """Cut anywhere, in any mixture: none is both, none is forgotten, and twins are closed."""
    requests: list[FoundRequest] = []
    for each in several:
        text = render_description("m", each.channels, each.hashes, batchable=each.batchable)
        cut = data.draw(st.integers(0, len(text)) | st.just(len(text)))
        labels = data.draw(st.sampled_from([("SAPM",), ("SAPM", "x"), ("x",), ()]))
        requests.append(FoundRequest(description=text[:cut], labels=labels))
    found = parse_requests(requests)
    known = [at for at, _ in (*found.usable, *found.closed)]
    ours = [at for at, each in enumerate(requests) if "SAPM" in each.labels]
    assert sorted(known) == ours
    used = [(each.channels, each.hashes) for _, each in found.usable]
    assert len(used) == len(set(used))
    assert all(SEPARATOR in requests[at].description for at, _ in found.usable)


hashes = st.builds(ConfigHash, texts, texts, texts)
targets = st.builds(
    PromotedTarget, texts, texts, texts, texts, st.lists(hashes, max_size=3).map(tuple)
)


@given(
    st.lists(targets, max_size=5, unique_by=lambda one: (one.file, one.template, one.namespace)),
    st.data(),
)
def test_the_order_of_subscribers_is_not_in_their_hash(
    found: list[PromotedTarget], data: st.DataObject
) -> None:
    """Nor the order of a subscriber's configuration hashes."""
    mixed = [
        PromotedTarget(one.file, one.template, one.namespace, one.ref, tuple(reversed(one.hashes)))
        for one in found
    ]
    assert content_hash(data.draw(st.permutations(mixed))) == content_hash(found)
    assert re.fullmatch("[0-9a-f]{32}", content_hash(found))


@given(targets, targets)
def test_another_content_has_another_hash(one: PromotedTarget, other: PromotedTarget) -> None:
    """The template sorts and is no content: all else is."""
    same = (one.file, one.namespace, one.ref, sorted(one.hashes)) == (
        other.file,
        other.namespace,
        other.ref,
        sorted(other.hashes),
    )
    assert (content_hash([one]) == content_hash([other])) == same


@given(texts, texts, st.none() | texts, texts, texts, st.booleans())
def test_ids_and_titles_have_their_form(
    saas: str, template: str, target: str | None, cluster: str, namespace: str, fips: bool
) -> None:
    """A uid is 20 bytes; a title has a number below 10^8."""
    uid = target_uid(saas, template, target, cluster, namespace, fips=fips)
    assert re.fullmatch("[0-9a-f]{40}", uid)
    title = request_title(saas, 3)
    found = re.fullmatch(r"\[SAPM\] auto-promotion ID (\d{1,8}) - batch size: 3", title)
    assert found
    assert str(int(found[1])) == found[1]
