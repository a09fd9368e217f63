"""The forge that a remote is at, with the token for it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.model.errors import UserError
from tidegate.model.problem import Problem

if TYPE_CHECKING:
    from tidegate.forge.place import ForgeKind
    from tidegate.forge.port import Forge


def forge(
    remote: str,
    kind: str = "auto",
    url: str = "",
    token: str = "",
    env: Mapping[str, str] | None = None,
) -> "Forge":
    """The forge a remote is at, as the settings `forge`, `forgeUrl` and `forgeToken` say.

    UserError names the setting to change. No request is sent yet.
    """
    from tidegate.forge.place import ForgeKind, forge_place
    from tidegate.git.remote_url import remote_of

    place = forge_place(remote_of(remote), kind, url)
    if place.kind is ForgeKind.LOCAL:
        from tidegate.forge.client.local import LocalForge

        return LocalForge(Path(place.api))
    from tidegate.forge.client.gitea import GiteaForge
    from tidegate.forge.client.github import GithubForge
    from tidegate.forge.client.gitlab import GitlabForge

    made: dict[ForgeKind, Callable[[str, str, str], Forge]] = {
        ForgeKind.GITLAB: GitlabForge,
        ForgeKind.GITHUB: GithubForge,
        ForgeKind.GITEA: GiteaForge,
    }
    secret = _forge_token(place.kind, token, os.environ if env is None else env)
    return made[place.kind](place.api, place.project, secret)


def _forge_token(kind: "ForgeKind", token: str, env: Mapping[str, str]) -> str:
    """The token for a forge: where the settings say, or where its own tools look for it."""
    from tidegate.forge.place import TOKEN_VARIABLES
    from tidegate.settings.settings import revealed

    usual = (env[name].strip() for name in TOKEN_VARIABLES[kind] if env.get(name, "").strip())
    found = revealed(token, env, "forgeToken") if token else next(usual, "")
    if not (found.isascii() and found.isprintable()) or " " in found:
        raise UserError((Problem("forgeToken", "what is there is no token", "write one word"),))
    return found
