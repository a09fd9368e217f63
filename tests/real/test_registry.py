"""A real registry, asked through the real adapter, up to the images an estate results in."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from tests.bundles import INVENTORY, PRODUCTION, integration, with_integration
from tests.patience import PATIENCE_S
from tests.real import needed
from tests.real.registry import (
    USER,
    Images,
    Tokens,
    docker_config,
    handing_out,
    running,
    with_password,
    with_tokens,
)
from tidegate.kinds.integrations.app.digests import Digests
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.workloads.estate import Estate, Site, estate_of, manifest_of
from tidegate.kinds.integrations.core.workloads.workloads import Manifest
from tidegate.model.errors import OutsideError
from tidegate.model.problem import Problems
from tidegate.registry.client.registry import Lives, OciRegistry
from tidegate.registry.client.requests import RegistryLimits
from tidegate.registry.document import RegistryLogin, server

pytestmark = pytest.mark.real

FAST = RegistryLimits(timeout_s=5, total_s=10, tries_max=2, pause_s=0.01, rest_s=0)
# Nothing is believed for longer than it takes to say.
FORGETFUL = Lives(one_build=0, moving=0, missing=0)
NAME = "app-sre/qontract-reconcile"
T = TypeVar("T")


@pytest.fixture(scope="module")
def program() -> str:
    return needed("docker-registry", "DOCKER_REGISTRY", "docker-registry")


@pytest.fixture(scope="module")
def images(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Images]:
    """One open registry for all stories that need no login."""
    with running(program, tmp_path_factory.mktemp("registry")) as found:
        yield found


def asking(
    address: str, ask: Callable[[OciRegistry], Awaitable[T]], auth_file: Path | None = None
) -> T:
    """What a question yields."""

    async def story() -> T:
        registry = OciRegistry([server(address)], auth_file, FAST, FORGETFUL)
        try:
            return await ask(registry)
        finally:
            await registry.close()

    return asyncio.run(story())


def digest(address: str, image: str, auth_file: Path | None = None) -> str | None:
    return asking(address, lambda registry: registry.digest(f"{address}/{image}"), auth_file)


def test_a_tag_has_the_digest_of_what_was_pushed(images: Images) -> None:
    pushed = images.push(NAME, "ed21267", "one")
    assert digest(images.address, f"{NAME}:ed21267") == pushed


def test_an_image_for_several_platforms_has_the_digest_of_the_whole(images: Images) -> None:
    """The one of its platform would leave the other nodes without an image."""
    whole = images.push_index(NAME, "many", {"amd64": "a", "arm64": "b"})
    assert digest(images.address, f"{NAME}:many") == whole
    assert digest(images.address, f"{NAME}:many-arm64") != whole


def test_a_tag_that_is_moved_has_another_digest(images: Images) -> None:
    first = images.push(NAME, "latest", "yesterday")
    assert digest(images.address, f"{NAME}:latest") == first
    second = images.push(NAME, "latest", "today")
    assert first != second
    assert digest(images.address, f"{NAME}:latest") == second


def test_what_is_not_there_is_none_and_its_neighbours_are_listed(images: Images) -> None:
    for tag in ("ed21267", "f929a38"):
        images.push("lists/one", tag, tag)
    assert digest(images.address, "lists/one:ed21276") is None
    assert digest(images.address, "nobody/ever:pushed") is None
    listed = asking(images.address, lambda r: r.tags(f"{images.address}/lists/one:x"))
    assert sorted(listed) == ["ed21267", "f929a38"]
    assert asking(images.address, lambda r: r.tags(f"{images.address}/nobody/ever:x")) == ()


def test_more_tags_than_a_page_holds_are_listed(
    images: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page by page, by the registry's own links."""
    tags = [f"v1.0.{i}" for i in range(7)]
    for tag in tags:
        images.push("lists/many", tag, "same")
    monkeypatch.setattr("tidegate.registry.client.registry.PAGE", 3)
    listed = asking(images.address, lambda r: r.tags(f"{images.address}/lists/many:x"))
    assert sorted(listed) == tags


def test_a_name_and_a_password_open_a_registry(program: str, tmp_path: Path) -> None:
    login = RegistryLogin(USER, "open sesame").header
    with running(program, tmp_path / "r", with_password(tmp_path / "r"), login) as images:
        pushed = images.push(NAME, "ed21267", "one")
        known = docker_config(tmp_path / "config.json", images.address)
        assert digest(images.address, f"{NAME}:ed21267", known) == pushed
        wrong = docker_config(tmp_path / "wrong.json", images.address, "open barley")
        with pytest.raises(OutsideError, match="check the login in registryAuth") as told:
            digest(images.address, f"{NAME}:ed21267", wrong)
        assert "barley" not in str(told.value)
        (tmp_path / "none.json").write_text("{}")
        with pytest.raises(OutsideError, match="name a docker config file with a login"):
            digest(images.address, f"{NAME}:ed21267", tmp_path / "none.json")


@pytest.fixture
def guarded(program: str, tmp_path: Path) -> Iterator[tuple[Images, Tokens]]:
    """A registry that takes tokens, and the service that issues them."""
    (tmp_path / "keys").mkdir()
    with handing_out(tmp_path / "keys") as tokens:
        header = f"Bearer {tokens.signed(f'repository:{NAME}:pull,push')}"
        with running(program, tmp_path / "r", with_tokens(tokens), header) as images:
            yield images, tokens


def test_a_token_is_fetched_once_for_a_repository(
    guarded: tuple[Images, Tokens], tmp_path: Path
) -> None:
    images, tokens = guarded
    pushed = [images.push(NAME, tag, tag) for tag in ("ed21267", "f929a38")]
    known = docker_config(tmp_path / "config.json", images.address)

    async def both(registry: OciRegistry) -> list[str | None]:
        at = f"{images.address}/{NAME}"
        return [await registry.digest(f"{at}:{tag}") for tag in ("ed21267", "f929a38")]

    assert asking(images.address, both, known) == pushed
    assert tokens.asked == [(f"repository:{NAME}:pull", "tests:open sesame")]


def test_a_token_that_is_spent_is_fetched_anew(
    guarded: tuple[Images, Tokens], tmp_path: Path
) -> None:
    images, tokens = guarded
    tokens.life_s = 1
    pushed = images.push(NAME, "ed21267", "one")
    known = docker_config(tmp_path / "config.json", images.address)

    async def twice(registry: OciRegistry) -> list[str | None]:
        return [await registry.digest(f"{images.address}/{NAME}:ed21267") for _ in range(2)]

    assert asking(images.address, twice, known) == [pushed, pushed]
    assert len(tokens.asked) == 2


def test_who_may_not_see_a_repository_is_shown_what_would_help(
    guarded: tuple[Images, Tokens], tmp_path: Path
) -> None:
    images, _ = guarded
    images.push(NAME, "ed21267", "one")
    (tmp_path / "helper.json").write_text(json.dumps({"credsStore": "desktop"}))
    for path, wanted in (
        (docker_config(tmp_path / "wrong.json", images.address, "barley"), "check the login"),
        (tmp_path / "helper.json", "the helper desktop is not run"),
    ):
        with pytest.raises(OutsideError, match=wanted) as told:
            digest(images.address, f"{NAME}:ed21267", path)
        assert "barley" not in str(told.value)


MANAGED = f"""
- namespace: {{$ref: {PRODUCTION}}}
  spec:
    imageRef: ed21267
    resources: {{requests: {{cpu: 100m, memory: 100Mi}}}}
  sharding:
    strategy: per-aws-account
    shardSpecOverrides:
    - {{shard: ter-int-dev, imageRef: PINNED}}
"""


def estate(address: str, pinned: str) -> Estate:
    bundle = with_integration(integration(MANAGED.replace("PINNED", pinned)))
    assert not bundle.errors
    site = Site(parameters={"IMAGE": f"{address}/estate/one"})
    declared = INTEGRATIONS.of(bundle)
    return estate_of(declared.integrations, declared.inventories, Problems(), site=site)


def settled(address: str, pinned: str) -> tuple[Estate, Problems]:
    problems = Problems()
    found = asking(address, lambda r: Digests(r).settle(estate(address, pinned), problems))
    return found, problems


def image_in(manifest: Manifest) -> str:
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    image: str = container["image"]
    return image


def test_an_estate_is_pinned_to_what_its_tags_are_now(images: Images) -> None:
    """From the bundle as it is written to the image a cluster is handed."""
    default = images.push("estate/one", "ed21267", "default")
    pinned = images.push("estate/one", "f929a38", "pinned")
    found, problems = settled(images.address, "f929a38")
    assert not problems.errors
    assert not problems.warnings
    assert found.complete
    wanted = {
        piece.shard.key: image_in(manifest_of(piece, found.site))
        for piece in found.pieces()
        if piece.shard is not None
    }
    at = f"{images.address}/estate/one"
    assert wanted == {
        "app-int-example-01": f"{at}:ed21267@{default}",
        "app-sre": f"{at}:ed21267@{default}",
        "ter-int-dev": f"{at}:f929a38@{pinned}",
    }


def test_a_mistyped_tag_is_shown_where_it_stands_with_the_nearest_one(images: Images) -> None:
    images.push("estate/one", "ed21267", "default")
    images.push("estate/one", "f929a38", "pinned")
    found, problems = settled(images.address, "f929a83")
    (told,) = problems.errors
    assert told.text() == (
        f"integrations/it.yml:12: there is no image {images.address}/estate/one:f929a83; "
        'did you mean "f929a38"?'
    )
    assert not found.complete
    assert [unit.name for unit in found.places[0].units] == [
        "terraform-resources/app-int-example-01",
        "terraform-resources/app-sre",
    ]


def test_a_registry_that_is_gone_leaves_what_it_last_said(program: str, tmp_path: Path) -> None:
    """And a tag it never spoke of stays a tag; either is said once, not image by image."""
    problems = Problems()

    async def story() -> tuple[Estate, Estate]:
        with running(program, tmp_path / "r") as images:
            images.push("estate/one", "ed21267", "default")
            images.push("estate/one", "f929a38", "pinned")
            registry = OciRegistry([server(images.address)], None, FAST, FORGETFUL)
            digests = Digests(registry)
            first = await digests.settle(estate(images.address, "f929a38"), problems)
            assert not problems.warnings
        second = await digests.settle(estate(images.address, "abcdef0"), problems)
        await digests.close()
        return first, second

    first, second = asyncio.run(story())
    assert second.places[0].revision == first.places[0].revision
    assert "@sha256:" in second.places[0].revision
    pinned = next(unit for unit in second.places[0].units if unit.name.endswith("ter-int-dev"))
    assert second.places[0].wanted(pinned) == "abcdef0"
    assert not problems.errors
    assert second.complete
    (told,) = problems.warnings
    assert "cannot be asked" in told.message
    assert told.remedy == "goes on with 1 by tag and 1 by the digest last known"


def test_the_commands_ask_the_registry_they_are_given(images: Images, tmp_path: Path) -> None:
    """As processes: applied to clusters with digests; then a tag moves, and another is mistyped."""
    name = "estate/commands"
    default = images.push(name, "ed21267", "default")
    pinned = images.push(name, "f929a38", "pinned")
    bundle, kubeconfig = tmp_path / "bundle", tmp_path / "kubeconfig"
    written = bundle / "integrations/it.yml"
    declared = integration(MANAGED.replace("PINNED", "f929a38"))
    for path, text in {**INVENTORY, "integrations/it.yml": declared}.items():
        (bundle / path).parent.mkdir(parents=True, exist_ok=True)
        (bundle / path).write_text(text)

    def tidegate(*args: str) -> subprocess.CompletedProcess[str]:
        at = f"{images.address}/{name}"
        common = ["--image", at, "--registry", images.address, "--kubeconfig", str(kubeconfig)]
        command = [sys.executable, "-m", "tidegate", args[0], str(bundle), *common, *args[1:]]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    with simulated(bundle, kubeconfig):
        applied = tidegate("apply", "--yes")
        assert applied.returncode == 0, applied.stderr
        again = tidegate("plan")
        assert again.stdout.splitlines()[-1].endswith("0 restarts"), again.stdout
        moved = images.push(name, "f929a38", "moved")
        plan = tidegate("plan", "--shard", "ter-int-dev", "-o", "json")
        assert all(f"{name}:f929a38@{each}" in plan.stdout for each in (pinned, moved)), plan.stdout
        assert default not in plan.stdout
        written.write_text(declared.replace("f929a38", "f929a83"))
        wrong = tidegate("plan")
        assert wrong.returncode == 1
        assert f'there is no image {images.address}/{name}:f929a83; did you mean "f929a38"?' in (
            wrong.stderr
        )
        assert "remove" not in wrong.stdout.splitlines()[-1]


@contextmanager
def simulated(bundle: Path, kubeconfig: Path) -> Iterator[None]:
    """The clusters of a bundle in another process."""
    command = [sys.executable, "-m", "tidegate", "clusters", "simulate", str(bundle)]
    command += ["--kubeconfig", str(kubeconfig), "--speed", "600"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), "it serves nothing"
        yield
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
