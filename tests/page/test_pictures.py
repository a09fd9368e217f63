"""Pictures for readers without a login: who has a link sees one picture, and no more than that."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.api.stage import PARTITION, TARGETS
from tests.page.stage import PageService
from tests.picture_key import LINKS, PUBLIC, path_of
from tidegate.api.route_table import ACTS
from tidegate.model.errors import UserError
from tidegate.net.picture_links import PictureLinks
from tidegate.page.pages import ServicePages
from tidegate.settings.picture_key import picture_links
from tidegate.settings.settings import load


@pytest.fixture
def pictured(service: PageService) -> PageService:
    """A service with a public address."""
    live, login = service.api._live, service.api._login
    pages = ServicePages(live, login, ACTS, pictures=LINKS)
    service.app.router.routes[:] = [*service.api.routes(), *pages.routes()]
    return service


def _seq(service: PageService) -> int:
    return service.archive.head(PARTITION).seq


def test_a_link_shows_one_picture_without_a_login(pictured: PageService) -> None:
    """An image that may be kept for good, in which nothing can run."""
    link = LINKS.of_entry(PARTITION, _seq(pictured))
    found = pictured.reader().get(path_of(link))
    assert (found.status, found.headers["content-type"]) == (200, "image/svg+xml")
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "sandbox" in found.headers["content-security-policy"]
    assert "set-cookie" not in found.headers
    assert ElementTree.fromstring(found.text).tag == "{http://www.w3.org/2000/svg}svg"
    assert pictured.reader().get(path_of(link)).text == found.text


def test_a_picture_names_the_rollout_and_no_target_or_group(pictured: PageService) -> None:
    """What is in it stands in the comment that links it, too; groups have numbers."""
    link = LINKS.of_entry(PARTITION, _seq(pictured))
    drawn = ElementTree.fromstring(pictured.reader().get(path_of(link)).text)
    texts = [each.text or "" for each in drawn.iter() if each.text]
    assert any(each.startswith(f"{PARTITION} — 10 targets: ") for each in texts)
    assert [each for each in texts if each.startswith("group ")] == [
        "group 1",
        "group 2",
        "group 3",
    ]
    hidden = {*TARGETS, *(name for names in TARGETS.values() for name in names)}
    assert [name for name in hidden if any(name in each for each in texts)] == []


def test_a_link_that_is_not_ours_leads_nowhere(pictured: PageService) -> None:
    """Neither another entry, nor another rollout, nor a key of others; all answer the same."""
    seq = _seq(pictured)
    ours = path_of(LINKS.of_entry(PARTITION, seq))
    others = PictureLinks(PUBLIC, "another key of the same length")
    wrong = [
        ours.replace(f"/{seq}/", f"/{seq - 1}/"),
        ours.replace(PARTITION, "simulated/other"),
        ours.removesuffix(".svg"),
        path_of(others.of_entry(PARTITION, seq)),
        path_of(LINKS.of_entry(PARTITION, seq + 1000)),
        path_of(LINKS.of_entry("simulated/nothing", 1)),
        f"/picture//{seq}/{PARTITION}.svg",
    ]
    answers = {pictured.reader().get(each).status for each in wrong}
    assert answers == {404}


def test_without_a_public_address_there_are_no_pictures(service: PageService) -> None:
    """That is the default: no link is made, and none is answered."""
    off = PictureLinks()
    assert off.of_entry(PARTITION, 1) == ""
    assert service.reader().get(path_of(LINKS.of_entry(PARTITION, 1))).status == 404
    empty = PictureLinks(PUBLIC, "x" * 16).of_entry(PARTITION, 1)
    assert not off.holds(empty.split("/")[-4], PARTITION, 1)


@pytest.mark.parametrize(
    "url, key, where",
    [
        ("tidegate.example", "x" * 32, "publicUrl"),
        (PUBLIC, "", "pictureKey"),
        (PUBLIC, "short", "pictureKey"),
    ],
)
def test_an_address_without_a_good_key_is_refused(url: str, key: str, where: str) -> None:
    """A signature that can be guessed is none."""
    with pytest.raises(UserError, match=where):
        PictureLinks(url, key)


def test_a_task_names_the_entry_that_decided_it() -> None:
    """The link of a task is that of its decision, whatever the target is called."""
    for key in (f"{PARTITION}#17/a/b", f"{PARTITION}#17.2.1/x#3/y"):
        assert LINKS.of_task(PARTITION, key) == LINKS.of_entry(PARTITION, 17)
    assert LINKS.of_task(PARTITION, "by hand") == ""


def test_serve_reads_the_key_from_where_it_is(tmp_path: Path) -> None:
    """The key itself is in no setting that is shown."""
    secret = tmp_path / "key"
    secret.write_text("a key that is long enough\n")
    env = {"TIDEGATE_PUBLIC_URL": PUBLIC, "TIDEGATE_PICTURE_KEY": f"file:{secret}"}
    made = picture_links(load({}, env).settings())
    assert made.of_entry(PARTITION, 3) == LINKS.of_entry(PARTITION, 3)
