"""Tokens on the page and by the API: shown once, kept as a hash, revoked in one click."""

import re
import shlex
from html import unescape
from pathlib import Path

from click.testing import CliRunner

from tests.api.stage import Client
from tests.page.stage import PageService
from tests.page.test_html import field, text_of
from tidegate.access.roles import Role
from tidegate.access.tokens import hash_of
from tidegate.cli.main import cli

FIELDS = {"name": "ci", "role": "operator", "groups": "stage prod", "reason": "deploys"}


def _created(service: PageService) -> str:
    """A token that was made on the page."""
    reader = service.reader().log_in()
    sheet = reader.get("/act/token").text
    done = reader.post("/act/token", {**FIELDS, "key": field(sheet, "key"), "tag": ""})
    assert done.status == 200, text_of(done.text)
    (found,) = re.findall(r'<code id="token-made">(tidegate_[\w-]+)</code>', done.text)
    assert "/act/revoke-token/ci?reason=undo" in unescape(done.text)
    return str(found)


def test_a_token_is_shown_once_works_and_is_nowhere_in_the_journal(service: PageService) -> None:
    """The page has it in one answer; the journal has its hash, and so has what it answered."""
    token = _created(service)
    caller = Client(service.app, token)
    assert caller.get("/rollouts").status == 200
    kept = b"".join(each.body for each in service.archive.read("access"))
    assert hash_of(token).encode() in kept
    assert token.encode() not in kept
    listed = service.reader().log_in().get("/tokens").text
    assert "groups stage, prod" in text_of(listed)
    assert token not in listed


def test_a_token_is_revoked_on_the_page(service: PageService) -> None:
    """It says which one, needs a reason, and from then on the token works no more."""
    token = _created(service)
    reader = service.reader().log_in()
    sheet = reader.get("/act/revoke-token/ci").text
    assert "token ci: operator of groups stage, prod, until it is revoked" in text_of(sheet)
    assert "tidegate token revoke ci --reason WHY" in text_of(sheet)
    done = reader.post("/act/revoke-token/ci", {"reason": "leaked", "tag": field(sheet, "tag")})
    assert "token ci is revoked" in text_of(done.text)
    assert Client(service.app, token).get("/rollouts").status == 401
    assert "revoked" in text_of(reader.get("/tokens").text)


def test_the_command_of_the_sheet_makes_a_token_that_may_the_same(
    service: PageService, tmp_path: Path
) -> None:
    """Its options are those of `tidegate token create`."""
    _created(service)
    sheet = service.reader().log_in().get(f"/act/token?name=cli&{_query(FIELDS)}").text
    (shown,) = re.findall(r'<code id="act-command">(.*?)</code>', sheet, re.DOTALL)
    program, *words = shlex.split(unescape(shown))
    database = ["--database", str(tmp_path / "journal.db")]
    ran = CliRunner().invoke(cli, [*words, *database])
    assert (program, ran.exit_code) == ("tidegate", 0), ran.output
    rows = {each["name"]: each for each in service.client().get("/tokens").json["items"]}
    differs = {"name", "createdAt", "createdBy"}
    mine, theirs = (
        {key: each for key, each in rows[name].items() if key not in differs}
        for name in ("ci", "cli")
    )
    assert mine == theirs


def _query(fields: dict[str, str]) -> str:
    return "&".join(f"{key}={each}" for key, each in fields.items() if key != "name")


def test_only_those_who_may_everything_see_or_make_tokens(service: PageService) -> None:
    """An operator, and an admin of some groups, see neither names nor forms that work."""
    for role, limits in ((Role.OPERATOR, {}), (Role.ADMIN, {"groups": ("dev",)})):
        reader = service.reader(role, **limits).log_in()
        page = text_of(reader.get("/tokens").text)
        assert "may not list tokens" in page
        assert "admin-0" not in page
        answer = reader.post("/act/token", {**FIELDS, "key": "k", "tag": ""})
        assert "tidegate_" not in answer.text
        assert "needs the role admin" in text_of(answer.text)
        client = service.client(role, **limits)
        for asked in (
            client.get("/tokens"),
            client.post("/revoke-token/admin-0", {"reason": "x"}),
            client.post("/token/x", {"reason": "x", "role": "admin", "hash": "0" * 64}),
        ):
            assert asked.status == 403
            assert "admin-0" not in asked.text


def test_a_role_that_there_is_not_is_said(service: PageService) -> None:
    """Not a crash."""
    reader = service.reader().log_in()
    answer = reader.post("/act/token", {**FIELDS, "role": "king", "key": "k", "tag": ""})
    assert answer.status == 422
    assert "king" in text_of(answer.text)
