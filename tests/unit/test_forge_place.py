"""Remotes as people write them, and which forge each is at; a row each."""

import pytest

from tidegate.forge.place import ForgeKind, ForgePlace, forge_place
from tidegate.git.remote_url import Remote, remote_of, without_login
from tidegate.model.errors import UserError


@pytest.mark.parametrize(
    "url, scheme, host, port, path",
    [
        ("https://gitlab.example.com/a/b/c.git", "https", "gitlab.example.com", None, "a/b/c"),
        ("https://GitLab.example.com/a/b/", "https", "gitlab.example.com", None, "a/b"),
        ("https://me:s3cret@host:8443/a/b.git", "https", "host", 8443, "a/b"),
        ("https://s3cret@host/a/b", "https", "host", None, "a/b"),
        ("http://127.0.0.1:3000/a/b.git", "http", "127.0.0.1", 3000, "a/b"),
        ("https://[::1]:3000/a/b.git", "https", "::1", 3000, "a/b"),
        ("ssh://git@host:2222/a/b.git", "ssh", "host", 2222, "a/b"),
        ("git+ssh://git@host/a/b.git", "ssh", "host", None, "a/b"),
        ("git@github.com:a/b.git", "ssh", "github.com", None, "a/b"),
        ("git@github.com:/a/b.git", "ssh", "github.com", None, "a/b"),
        ("host:a/b", "ssh", "host", None, "a/b"),
        ("git@[::1]:a/b.git", "ssh", "::1", None, "a/b"),
        ("https://host/a%20b/c.git", "https", "host", None, "a b/c"),
        ("file:///srv/git/a%20b.git", "file", "", None, "/srv/git/a b.git"),
        ("/srv/git/b.git", "file", "", None, "/srv/git/b.git"),
        ("../b.git", "file", "", None, "../b.git"),
        ("./a:b.git", "file", "", None, "./a:b.git"),
        ("/srv/a@b:c.git", "file", "", None, "/srv/a@b:c.git"),
    ],
)
def test_a_remote_has_a_host_and_a_path(
    url: str, scheme: str, host: str, port: int | None, path: str
) -> None:
    assert remote_of(url) == Remote(scheme, host, port, path)
    assert "s3cret" not in repr(remote_of(url))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ext::sh -c 'touch /tmp/x'",
        "https://me:s3cret@/a/b",
        "https://me:s3cret@host",
        "https://me:s3cret@host:99999999/a/b",
        "ftp://me:s3cret@host/a/b",
        "file://me:s3cret@host/a/b",
    ],
)
def test_what_is_no_remote_is_refused_without_its_login(url: str) -> None:
    with pytest.raises(UserError, match="is not an address of a repository") as told:
        remote_of(url)
    assert "s3cret" not in str(told.value)


def test_a_login_is_dropped_from_what_is_shown() -> None:
    """Also from what is not an address anyone could use; the user of ssh is dropped with it."""
    assert without_login("https://me:s3@cret@host/a/b.git") == "https://host/a/b.git"
    assert without_login("ssh://git:s3cret@host:22/a/b@c") == "ssh://git@host:22/a/b@c"
    assert without_login("git@host:a/b.git") == "git@host:a/b.git"
    assert without_login("/srv/a@b") == "/srv/a@b"


@pytest.mark.parametrize(
    "url, kind, api, found",
    [
        ("git@github.com:o/n.git", "auto", "", ("github", "https://api.github.com", "o/n")),
        (
            "ssh://git@ssh.github.com:443/o/n.git",
            "auto",
            "",
            ("github", "https://api.github.com", "o/n"),
        ),
        (
            "https://github.example.com/o/n",
            "auto",
            "",
            ("github", "https://github.example.com/api/v3", "o/n"),
        ),
        (
            "https://gitlab.example.com:8443/a/b/c.git",
            "auto",
            "",
            ("gitlab", "https://gitlab.example.com:8443/api/v4", "a/b/c"),
        ),
        (
            "ssh://git@gitlab.example.com:2222/a/b.git",
            "auto",
            "",
            ("gitlab", "https://gitlab.example.com/api/v4", "a/b"),
        ),
        ("https://codeberg.org/o/n", "auto", "", ("gitea", "https://codeberg.org/api/v1", "o/n")),
        (
            "https://forgejo.example.com/o/n",
            "auto",
            "",
            ("gitea", "https://forgejo.example.com/api/v1", "o/n"),
        ),
        (
            "http://git.example.com/a/b.git",
            "gitlab",
            "",
            ("gitlab", "https://git.example.com/api/v4", "a/b"),
        ),
        (
            "http://127.0.0.1:3000/o/n.git",
            "gitea",
            "",
            ("gitea", "http://127.0.0.1:3000/api/v1", "o/n"),
        ),
        (
            "git@git.example.com:a/b.git",
            "gitlab",
            "http://inside:8080",
            ("gitlab", "http://inside:8080/api/v4", "a/b"),
        ),
        (
            "https://example.com/git/o/n.git",
            "gitea",
            "https://example.com/git/",
            ("gitea", "https://example.com/git/api/v1", "o/n"),
        ),
        (
            "git@git.example.com:a/b.git",
            "gitlab",
            "https://g.example.com/api/v4/",
            ("gitlab", "https://g.example.com/api/v4", "a/b"),
        ),
        ("git@x:o/n", "github", "https://github.com", ("github", "https://api.github.com", "o/n")),
        (
            "git@x:o/n",
            "github",
            "https://api.github.com",
            ("github", "https://api.github.com", "o/n"),
        ),
        ("/srv/git/b.git", "auto", "", ("local", "/srv/git/b.git", "")),
        ("file:///srv/git/b.git", "local", "", ("local", "/srv/git/b.git", "")),
    ],
)
def test_a_forge_is_recognised_from_its_remote(
    url: str, kind: str, api: str, found: tuple[str, str, str]
) -> None:
    place = ForgePlace(ForgeKind(found[0]), found[1], found[2])
    assert forge_place(remote_of(url), kind, api) == place


@pytest.mark.parametrize(
    "url, kind, api, what",
    [
        ("https://git.example.com/a/b", "auto", "", "set forge to gitlab, github or gitea"),
        ("https://github.com/a", "auto", "", "is not a project of github; write owner/name"),
        ("https://github.com/a/b/c", "auto", "", "is not a project of github"),
        ("git@host:a/b", "local", "", "a local forge is not a ssh remote"),
        ("/srv/b.git", "gitlab", "", "write forge: local, or set forgeUrl"),
        ("git@host:a/b", "gitlab", "host", 'forgeUrl: "host" is not an address'),
        ("git@host:a/b", "gitlab", "https://me:s3cret@host", "forgeUrl: a login in an address"),
        ("git@host:a/b", "gitlab", "ftp://me:s3cret@host", "forgeUrl: .* is not an address"),
    ],
)
def test_what_cannot_be_reported_names_the_setting(
    url: str, kind: str, api: str, what: str
) -> None:
    with pytest.raises(UserError, match=what) as told:
        forge_place(remote_of(url), kind, api)
    assert "s3cret" not in str(told.value)
