"""Callers that others vouch for: people of an issuer, in a browser or with a token, and service
accounts of a cluster. What cannot be checked is refused.
"""

import webbrowser
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener, urlopen

import pytest

from tests.api.listener import listening, listening_app
from tests.api.stage import PARTITION, Client, Replied, Service, copied
from tests.command import tidegate
from tests.oidc.small_issuer import CLIENT, SmallIssuer
from tests.oidc.test_issuer import MovedClock
from tidegate.access.policy_doc import AccessPolicy, read_policy
from tidegate.api.login.login import KNOWN, UNKNOWN
from tidegate.journal.facts import Requested
from tidegate.kubernetes.review_port import ReviewedToken
from tidegate.model.errors import OutsideError, UserError
from tidegate.model.time import SECOND

ACCOUNT = "system:serviceaccount:ci:deployer"


def policy_of(url: str, service: str = "http://127.0.0.1:1") -> AccessPolicy:
    """Logins by an issuer and a cluster; payments approves, a service account reads."""
    data = {
        "oidc": {"issuer": url, "clientId": CLIENT, "url": service},
        "kubernetes": {"context": "c1"},
        "grants": [
            {"role": "operator", "subjects": ["group:payments"]},
            {"role": "viewer", "subjects": ["serviceaccount:ci:*", "group:system:serviceaccounts"]},
        ],
    }
    return read_policy(data, "policy.yaml")


class SmallCluster:
    """A cluster that knows some tokens."""

    name = "c1"

    def __init__(self) -> None:
        self.known: dict[str, ReviewedToken] = {}
        self.asked = 0
        self.is_down = False

    async def review(self, token: str, audience: str) -> ReviewedToken:
        """What it says of a token."""
        self.asked += 1
        if self.is_down:
            raise OutsideError("c1: reviewing a token: connection refused")
        return self.known.get(token, ReviewedToken())

    async def close(self) -> None:
        """Nothing is open."""


class Logins:
    """A service with an issuer and a cluster."""

    def __init__(self, small: SmallIssuer, journal: Path, url: str = "http://127.0.0.1:1") -> None:
        self.small = small
        self.cluster = SmallCluster()
        self.clock = MovedClock()
        self.journal = journal
        self.policy = policy_of(small.url, url)
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        self.service = Service(self.journal, self.policy, self.cluster, self.clock)

    def client(self, token: str = "") -> Client:
        """A client with a token, or without."""
        return Client(self.service.app, token)


@pytest.fixture
def logins(decided: Path, tmp_path: Path) -> Iterator[Logins]:
    """A service with an issuer that listens."""
    small = SmallIssuer()
    with listening_app(small.app) as small.url:
        made = Logins(small, copied(decided, tmp_path))
        yield made
        made.service.close()


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Answers are looked at, not followed."""


def followed(url: str) -> str:
    """Where the issuer sends a browser."""
    try:
        build_opener(_Stay).open(url, timeout=10)
    except HTTPError as error:
        with error:
            return error.headers["Location"]
    raise AssertionError(f"{url} sends nowhere")


def cookie_of(answer: Replied, name: str) -> str:
    """NAME=VALUE of a cookie that an answer sets."""
    found = [each.partition(";")[0] for each in answer.cookies if each.startswith(f"{name}=")]
    return found[-1]


def logged_in(client: Client, following: str = "/") -> tuple[Replied, str]:
    """A whole login by browser: the last answer, and the cookie of the session."""
    begun = client.get(f"/auth/login?next={following}")
    assert begun.status == 303, begun.text
    back = urlsplit(followed(begun.headers["location"]))
    assert back.path == "/auth/callback"
    headers = {"cookie": cookie_of(begun, "tidegate-login")}
    done = client.get(f"/auth/callback?{back.query}", headers)
    assert done.status == 303, done.text
    return done, cookie_of(done, "tidegate-session")


def test_a_token_of_the_issuer_is_known_by_name_and_groups(logins: Logins) -> None:
    """And a write says who, by which issuer, and why."""
    client = logins.client(logins.small.token())
    known = client.get("/whoami").json
    assert (known["actor"], known["roles"]) == ("user:ann@example.com", ["operator"])
    assert known["via"] == f"oidc {logins.small.url}, subject s-1"
    assert client.post(f"/pause/{PARTITION}", {"reason": "incident"}).status == 200
    *_, act, request = logins.service.archive.read(PARTITION)
    said = request.fact()
    assert isinstance(said, Requested)
    assert (act.actor, said.via) == ("user:ann@example.com", known["via"])
    other = logins.client(logins.small.token(groups=["sales"]))
    assert other.get("/rollouts").status == 403  # known, and granted nothing


def test_a_token_that_is_not_good_lets_no_one_in(logins: Logins) -> None:
    """401 with what is wrong; a token of an unknown issuer is asked of the cluster only."""
    small = logins.small
    for token, said in (
        (small.token(exp=1), "expired"),
        (small.token(aud="grafana"), "grafana"),
        (small.token(iss="https://other.example"), "c1 does not know the token"),
        ("garbage", "no token of Tidegate"),
        ("a.b.c", "no token of Tidegate"),
    ):
        answer = logins.client(token).get("/status")
        assert answer.status == 401, said
        assert said in answer.json["detail"]
    assert logins.cluster.asked == 1


def test_an_issuer_that_is_down_lets_no_one_new_in(logins: Logins) -> None:
    """Known tokens and sessions go on; a new login says what does not answer."""
    token = logins.small.token()
    _, session = logged_in(logins.client())
    assert logins.client(token).get("/status").status == 200
    logins.small.is_down = True
    assert logins.client(token).get("/status").status == 200
    assert logins.client().get("/status", {"cookie": session}).status == 200
    logins.start()  # keys are not kept over a restart; sessions are in the journal
    assert logins.client().get("/status", {"cookie": session}).status == 200
    for answer in (logins.client(token).get("/status"), logins.client().get("/auth/login")):
        assert answer.status == 503
        assert logins.small.url in answer.json["detail"]


def test_a_stranger_is_not_told_where_the_journal_is(
    logins: Logins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log says why no login is known; an answer without a login names no server."""
    told: list[str] = []
    monkeypatch.setattr(
        logins.service.api, "_refused", lambda _method, _path, _status, why: told.append(why)
    )

    async def away(*_: object) -> None:
        raise OutsideError("db.internal:5432: connection refused")

    monkeypatch.setattr(logins.service.login, "_turn", away)
    answer = logins.client("tidegate_any").get("/status")
    assert answer.status == 503
    assert "db.internal" not in answer.text
    assert "the journal does not answer" in answer.json["detail"]
    assert told == ["db.internal:5432: connection refused"]


def test_a_browser_logs_in_and_out(logins: Logins) -> None:
    """The cookie is for this service alone; the journal has who logged in, and not the cookie."""
    client = logins.client()
    done, session = logged_in(client, "/fleet")
    assert done.headers["location"] == "/fleet"
    whole = next(each for each in done.cookies if each.startswith("tidegate-session="))
    for word in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=43200"):
        assert word in whole
    assert "Secure" not in whole  # it is not served with TLS here
    headers = {"cookie": session, "sec-fetch-site": "same-origin"}
    known = client.get("/whoami", headers).json
    assert known["actor"] == "user:ann@example.com"
    assert "session" in known["via"]
    *_, started = logins.service.archive.read("access")
    assert (started.kind, started.actor) == ("sessionStarted", "user:ann@example.com")
    assert session.partition("=")[2].encode() not in started.body
    out = client.send("POST", "/auth/logout", b"", headers)
    assert out.status == 303
    assert "Max-Age=0" in out.cookies[0]
    assert client.get("/whoami", headers).status == 401


def test_a_session_ends_in_time(logins: Logins) -> None:
    """However often it is used, and also after a restart."""
    client = logins.client()
    _, session = logged_in(client)
    logins.clock.ahead += 12 * 3600 * SECOND - 60 * SECOND
    logins.start()
    assert logins.client().get("/status", {"cookie": session}).status == 200
    logins.clock.ahead += 60 * SECOND
    answer = logins.client().get("/status", {"cookie": session})
    assert (answer.status, "log in again" in answer.json["detail"]) == (401, True)


def test_a_write_of_a_browser_is_from_our_own_page(logins: Logins) -> None:
    """Another page in the same browser has the cookie, too, and may not use it."""
    client = logins.client()
    _, session = logged_in(client)
    body = b'{"reason": "x"}'
    ours = {"cookie": session, "content-type": "application/json"}
    for more, verb, status in (
        ({}, "pause", 403),
        ({"sec-fetch-site": "cross-site"}, "pause", 403),
        ({"sec-fetch-site": "same-site"}, "pause", 403),
        ({"sec-fetch-site": "none"}, "pause", 403),
        ({"origin": "http://evil.example"}, "pause", 403),
        ({"origin": "null"}, "pause", 403),
        ({"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:1"}, "pause", 403),
        ({"sec-fetch-site": "same-origin"}, "pause", 200),
        ({"origin": "http://127.0.0.1:1", "if-match": "*"}, "resume", 200),
    ):
        answer = client.send("POST", f"/{verb}/{PARTITION}", body, {**ours, **more})
        assert answer.status == status, (more, answer.text)
    foreign = client.send("POST", "/auth/logout", b"", {**ours, "sec-fetch-site": "cross-site"})
    assert foreign.status == 403
    assert client.get("/status", ours).status == 200


def test_a_login_that_was_not_begun_by_this_browser_is_refused(logins: Logins) -> None:
    """State, code and nonce belong together, and each is used once."""
    client = logins.client()
    begun = client.get("/auth/login")
    back = urlsplit(followed(begun.headers["location"])).query
    state = parse_qs(back)["state"][0]
    mine = {"cookie": cookie_of(begun, "tidegate-login")}
    other = {"cookie": cookie_of(client.get("/auth/login"), "tidegate-login")}
    for headers, query in (
        ({}, back),
        (other, back),
        ({"cookie": "tidegate-login=rubbish"}, back),
        (mine, "code=x&state=guessed"),
        (mine, f"code=guessed&state={state}"),
        (mine, f"error=access_denied&state={state}"),
    ):
        answer = client.get(f"/auth/callback?{query}", headers)
        assert answer.status == 401, query
        assert not any("session" in each for each in answer.cookies)
    assert client.get(f"/auth/callback?state={state}", mine).status == 400
    assert client.get(f"/auth/callback?{back}", mine).status == 303
    assert client.get(f"/auth/callback?{back}", mine).status == 401


@pytest.mark.parametrize("where", ["https://evil.example", "//evil.example", "/\\evil.example", ""])
def test_a_login_leads_nowhere_else(logins: Logins, where: str) -> None:
    """Whatever a link to it says."""
    done, _ = logged_in(logins.client(), where)
    assert done.headers["location"] == "/"


def test_cookies_are_for_tls_alone_where_there_is_tls(
    logins: Logins, decided: Path, tmp_path: Path
) -> None:
    """And for this host alone."""
    (tmp_path / "tls").mkdir()
    served = Logins(logins.small, copied(decided, tmp_path / "tls"), "https://tidegate.example")
    begun = served.client().get("/auth/login")
    assert begun.cookies[0].startswith("__Host-tidegate-login=")
    assert "Secure" in begun.cookies[0]
    assert "https%3A%2F%2Ftidegate.example%2Fauth%2Fcallback" in begun.headers["location"]
    served.service.close()


def test_a_service_without_an_issuer_says_so(service: Service) -> None:
    """A browser cannot log in; a command line asks for a token."""
    client = Client(service.app)
    assert client.get("/auth/login").status == 404
    assert client.get("/auth/config").json["issuer"] == ""
    assert client.get("/status", {"cookie": "tidegate-session=x"}).status == 401


def token_of(logins: Logins, jti: str = "1") -> str:
    """A token of a service account, as far as we can tell."""
    token = logins.small.token(iss="https://kubernetes.default.svc", jti=jti)
    logins.cluster.known[token] = ReviewedToken(
        username=ACCOUNT, groups=("system:serviceaccounts:ci",), audiences=("tidegate",)
    )
    return token


def test_a_service_account_is_known_by_its_cluster(logins: Logins) -> None:
    """Asked once a minute for a token."""
    client = logins.client(token_of(logins))
    for _ in range(3):
        known = client.get("/whoami").json
    assert (known["actor"], known["roles"]) == ("serviceaccount:ci:deployer", ["viewer"])
    assert known["via"] == "service account ci:deployer of the cluster c1"
    assert logins.cluster.asked == 1
    assert client.post(f"/pause/{PARTITION}", {"reason": "x"}).status == 403
    logins.clock.ahead += KNOWN
    logins.cluster.known.clear()  # it was deleted
    assert client.get("/whoami").status == 401


def test_a_cluster_that_is_down_lets_no_one_in(logins: Logins) -> None:
    """A token that it knew a moment ago goes on for a minute, and no longer."""
    known, new = logins.client(token_of(logins)), logins.client(token_of(logins, jti="2"))
    assert known.get("/status").status == 200
    logins.cluster.is_down = True
    assert known.get("/status").status == 200
    answer = new.get("/status")
    assert (answer.status, "connection refused" in answer.json["detail"]) == (503, True)
    logins.clock.ahead += KNOWN
    assert known.get("/status").status == 503
    logins.cluster.is_down = False
    assert new.get("/status").status == 200


@pytest.mark.parametrize(
    "said, detail",
    [
        (ReviewedToken(), "does not know"),
        (ReviewedToken(username=ACCOUNT, audiences=("other",)), "not made for tidegate"),
        (ReviewedToken(username=ACCOUNT), "not made for tidegate"),
        (ReviewedToken(username="admin", audiences=("tidegate",)), "no service account"),
    ],
)
def test_a_token_that_is_not_of_a_service_account_for_us_is_refused(
    logins: Logins, said: ReviewedToken, detail: str
) -> None:
    """And not asked about again at once."""
    token = token_of(logins)
    logins.cluster.known[token] = said
    client = logins.client(token)
    for _ in range(3):
        answer = client.get("/status")
        assert (answer.status, detail in answer.json["detail"]) == (401, True)
    assert logins.cluster.asked == 1
    logins.cluster.known[token] = ReviewedToken(username=ACCOUNT, audiences=("tidegate",))
    logins.clock.ahead += UNKNOWN
    assert client.get("/status").status == 200


def test_a_policy_file_that_is_wrong_about_logins_is_refused() -> None:
    """Every mistake with its place: before anything is let in by it."""
    data = {
        "oidc": {
            "issuer": "http://dex.example",
            "url": "tidegate.example",
            "clientSecret": "s3cr3t",
            "scopes": ["email"],
            "algorithms": ["HS256", "none"],
            "session": "720h",
            "clockSkew": "1h",
            "audience": "x",
        },
        "kubernetes": {"audience": ""},
        "grants": [{"role": "viewer", "subjects": [ACCOUNT]}],
    }
    with pytest.raises(UserError) as raised:
        read_policy(data, "policy.yaml")
    text = str(raised.value)
    for said in (
        "oidc.issuer",
        "oidc.url",
        "oidc.clientId: missing",
        "oidc.clientSecret: a secret does not belong here",
        "oidc.scopes",
        '"HS256" is not safe',
        '"none" is not safe',
        "oidc.session",
        "oidc.clockSkew",
        'oidc.audience: unknown field; did you mean "audiences"?',
        "kubernetes.audience",
        "write serviceaccount:ci:deployer",
    ):
        assert said in text, said
    assert "s3cr3t" not in text


@pytest.mark.parametrize("written, seconds", [("0s", 0), ("5s", 5), (None, 60)])
def test_clocks_may_differ_as_it_is_written(written: str | None, seconds: int) -> None:
    """0s means not at all, and only what is not written is as documented."""
    skew = {} if written is None else {"clockSkew": written}
    data = {"oidc": {"issuer": "https://dex.example", "clientId": "tidegate", **skew}}
    oidc = read_policy(data, "policy.yaml").oidc
    assert oidc is not None
    assert oidc.settings.clock_skew == seconds * SECOND


def test_the_command_line_logs_in_renews_and_logs_out(
    logins: Logins, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a browser here; a token that ends soon is renewed, and the one before is worth nothing."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []

    def open_browser(address: str) -> bool:
        opened.append(address)
        # As a browser in the terminal does: it returns when the page was read.
        with urlopen(address, timeout=10):
            return True

    monkeypatch.setattr(webbrowser, "open", open_browser)
    logins.small.lasts_s = 30  # renewed each time
    kept = tmp_path / "config" / "tidegate" / "contexts.json"
    with listening(logins.service) as address:
        done = tidegate("login", address, "--name", "here")
        assert done.returncode == 0, done.stderr
        assert "as user:ann@example.com (operator)" in done.stdout
        asked = parse_qs(urlsplit(opened[0]).query)
        assert asked["code_challenge_method"] == ["S256"]
        assert asked["redirect_uri"][0].startswith("http://127.0.0.1:")
        assert kept.stat().st_mode & 0o777 == 0o600
        before = kept.read_text()
        assert PARTITION in tidegate("get", "rollouts").stdout
        assert kept.read_text() != before
        # The issuer takes each refresh token once: what was kept before is worth nothing.
        kept.write_text(before)
        over = tidegate("get", "rollouts")
        assert (over.returncode, f"tidegate login {address}" in over.stderr) == (2, True)
        assert tidegate("login", address, "--name", "here").returncode == 0
        logins.small.is_down = True
        down = tidegate("get", "rollouts")
        assert (down.returncode, logins.small.url in down.stderr) == (1, True)
        logins.small.is_down = False
        out = tidegate("logout")
        assert (out.returncode, "ended at the issuer" in out.stdout) == (0, True)
        assert "here" not in kept.read_text()
        assert tidegate("logout").returncode == 2
        assert tidegate("login", address, "--device", "--token").returncode == 2
