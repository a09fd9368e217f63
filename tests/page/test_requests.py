"""What people requested of a service, on the screen of a rollout, and withdrawn there."""

from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from tests.api.test_version_requests import NAME, PROMOTION
from tests.page.stage import PageService
from tests.page.test_html import field
from tests.promoted import Play, make_source
from tidegate.access.roles import Role


@pytest.fixture
def service(tmp_path: Path) -> Iterator[PageService]:
    """A promotion that was read once, of which a version is requested for one environment."""
    source = make_source(tmp_path / "source")
    play = Play(tmp_path, source)
    play.edit({"data/promotion.yml": PROMOTION})
    assert play.run("run", "--once", "--kind", "promotions").returncode == 0
    with PageService(tmp_path / "tidegate.db") as made:
        body = {"to": ["env"], "ref": source.second[:7], "reason": "inc <42>"}
        assert made.client().post(f"/promote/{NAME}", body, if_match="*").status == 200
        yield made
        made.close()


def test_a_request_is_listed_and_withdrawn(service: PageService) -> None:
    """With its actor, reason and verdict; the sheet names it, and what follows."""
    reader = service.reader().log_in()
    page = reader.get(f"/rollout/{NAME}").text
    assert "was not read yet" in page
    assert "inc &lt;42&gt;" in page
    action = unescape(page.partition('href="/act/withdraw')[2].partition('"')[0])
    sheet = reader.get(f"/act/withdraw{action}").text
    ident = field(sheet, "request")
    assert f"tidegate withdraw {NAME} {ident}" in unescape(sheet)
    assert "starts 2 targets at once" in sheet
    sent = {"request": ident, "tag": field(sheet, "tag"), "key": "k1", "reason": "not now"}
    assert f"withdrew {ident}" in reader.post(f"/act/withdraw/{NAME}", sent).text
    assert "/act/withdraw" not in reader.get(f"/rollout/{NAME}").text


def test_a_viewer_is_told_the_role_it_takes(service: PageService) -> None:
    """The button is there, and does nothing."""
    page = service.reader(Role.VIEWER).log_in().get(f"/rollout/{NAME}").text
    assert "Withdraw…" in page
    assert 'href="/act/' not in page
