"""The screen of promotions: environments with what is offered to them."""

from html import unescape
from typing import cast

from tests.engine.test_two_promotions import Office, office, source
from tidegate.access.roles import Caller, Grant, Role
from tidegate.api.questions import NoQuery
from tidegate.api.route import RouteQuestion
from tidegate.app.partitions.journals import Journals
from tidegate.git.history import SHORT
from tidegate.kind_table import rules_of
from tidegate.page.frame import frame
from tidegate.page.kind_screens import kind_tables
from tidegate.page.template_set import html
from tidegate.store.archive_port import Archive

__all__ = ["office", "source"]


def test_an_environment_says_what_is_offered_to_it(office: Office) -> None:
    """It says the version, how many commits it is behind, and why it waits."""
    office.rounds()
    office.rounds()
    journals = Journals(office.store, rules_of, office.clock.now())
    caller = Caller(actor="token:a", via="test", grants=(Grant(role=Role.VIEWER, subjects=("*",)),))
    ask = RouteQuestion(journals, journals, cast(Archive, office.store), caller, "", NoQuery())
    tables, notes = kind_tables(ask, "promotions")
    header = frame(journals, caller, "promotions")
    answer = html("kind.html", frame=header, kind="promotions", tables=tables, notes=notes)
    page = unescape(bytes(answer.body).decode())
    assert [len(each.rows) for each in tables] == [2]
    for name, environment in (("checks", "pr-check"), ("builds", "jenkins")):
        lane = office.lanes()[name]
        assert lane.offer is not None
        assert f"{lane.offer.version[:SHORT]} open" in page
        assert lane.offer.version not in page
        assert f'href="/why/promotions/{name}?target={environment}"' in page
        assert lane.why is not None
        assert lane.why in page
    # The forge is a folder here: only addresses of the web are links.
    assert 'href="file:' not in page
