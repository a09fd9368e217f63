"""Images, registries, challenges and logins as they are written; a row each."""

import pytest

from tidegate.model.errors import UserError
from tidegate.registry.document import (
    Challenge,
    ConfigLogin,
    DockerConfig,
    Reference,
    challenge,
    helper_for,
    is_digest,
    login_for,
    reference,
    server,
)
from tidegate.registry.image import is_one_build


@pytest.mark.parametrize(
    "image, host, name, tag",
    [
        ("quay.io/app-sre/x:ed21267", "quay.io", "app-sre/x", "ed21267"),
        ("quay.io/app-sre/x", "quay.io", "app-sre/x", "latest"),
        ("localhost/x:1", "localhost", "x", "1"),
        ("127.0.0.1:5000/a/b/c:1", "127.0.0.1:5000", "a/b/c", "1"),
        ("busybox", "docker.io", "library/busybox", "latest"),
        ("a/b:1", "docker.io", "a/b", "1"),
        ("docker.io/busybox:1", "docker.io", "library/busybox", "1"),
    ],
)
def test_an_image_names_its_registry(image: str, host: str, name: str, tag: str) -> None:
    assert reference(image) == Reference(host, name, tag)


@pytest.mark.parametrize(
    "written, host, url",
    [
        ("quay.io", "quay.io", "https://quay.io"),
        ("quay.io/", "quay.io", "https://quay.io"),
        ("registry.internal:5000", "registry.internal:5000", "https://registry.internal:5000"),
        (
            "http://registry.internal:5000",
            "registry.internal:5000",
            "http://registry.internal:5000",
        ),
        ("localhost:5000", "localhost:5000", "http://localhost:5000"),
        ("127.0.0.1:5000", "127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("[::1]:5000", "[::1]:5000", "http://[::1]:5000"),
        ("https://localhost", "localhost", "https://localhost"),
        ("localhost.evil.example", "localhost.evil.example", "https://localhost.evil.example"),
        ("docker.io", "docker.io", "https://registry-1.docker.io"),
    ],
)
def test_plain_http_is_for_this_machine_or_for_those_who_say_so(
    written: str, host: str, url: str
) -> None:
    found = server(written)
    assert (found.host, found.url) == (host, url)


@pytest.mark.parametrize("written", ["quay.io/app-sre", "ftp://quay.io", "", "a b", "u@quay.io"])
def test_what_is_no_registry_says_how_to_write_one(written: str) -> None:
    with pytest.raises(UserError, match="is no registry; write quay"):
        server(written)


def test_a_token_is_asked_for_before_a_password() -> None:
    bearer = 'Bearer realm="https://q/auth",service="q io",scope="repository:a:pull,push"'
    wanted = Challenge("bearer", "https://q/auth", "q io", "repository:a:pull,push")
    assert challenge([bearer]) == wanted
    assert challenge(['Basic realm="x"', bearer]) == wanted
    assert challenge(["BASIC realm=x"]) == Challenge("basic", "x")
    assert challenge(["Negotiate"]) is None
    assert challenge([]) is None


CONFIG = DockerConfig(
    auths={
        "https://quay.io/v1/": ConfigLogin(auth="dTpw"),
        "quay.io/app-sre": ConfigLogin(username="bot", password="s:3"),
        "https://index.docker.io/v1/": ConfigLogin(auth="aHViOng="),
        "empty.example": ConfigLogin(),
        "broken.example": ConfigLogin(auth="%%%"),
    },
    credHelpers={"ecr.example": "ecr-login"},
)


@pytest.mark.parametrize(
    "host, name, wanted",
    [
        ("quay.io", "other/x", "u:p"),
        ("quay.io", "app-sre/x", "bot:s:3"),
        ("quay.io", "app-sre-next/x", "u:p"),
        ("docker.io", "library/busybox", "hub:x"),
        ("empty.example", "a", None),
        ("broken.example", "a", None),
        ("elsewhere.example", "a", None),
    ],
)
def test_the_login_that_names_a_repository_most_closely_is_used(
    host: str, name: str, wanted: str | None
) -> None:
    found = login_for(CONFIG, host, name)
    assert (f"{found.username}:{found.password}" if found else None) == wanted


def test_a_helper_that_would_know_is_named() -> None:
    assert helper_for(CONFIG, "ecr.example") == "ecr-login"
    assert helper_for(CONFIG, "quay.io") == ""
    assert helper_for(DockerConfig(credsStore="desktop"), "quay.io") == "desktop"


def test_only_whole_digests_are_believed() -> None:
    assert is_digest(f"sha256:{'a' * 64}")
    assert is_digest(f"sha512:{'a' * 128}")
    for text in ("", "sha256:", f"sha256:{'A' * 64}", f"sha256:{'a' * 63}", f"md5:{'a' * 32}"):
        assert not is_digest(text)


@pytest.mark.parametrize("tag", ["ed21267", "e" * 40, "v1.2.3", "1.2.3", "1.2.3-rc.1", "4.16.2_x"])
def test_a_commit_and_a_whole_version_are_one_build(tag: str) -> None:
    assert is_one_build(tag)


@pytest.mark.parametrize("tag", ["latest", "main", "v1", "1.2", "stage", "ed2126", "v1.2.x", ""])
def test_everything_else_may_be_moved(tag: str) -> None:
    assert not is_one_build(tag)
