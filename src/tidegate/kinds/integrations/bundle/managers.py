"""Which image the manager of an environment hands on: the commit its saas target is deployed at.

The predecessor knows the tag of its own image and gives it to every integration without an
`imageRef`. So the `ref` of the target that deploys the manager is where that image is written: a
commit, or a branch whose newest commit it is. Where that cannot be read, or has two answers, there
is no default image: nothing is guessed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from tidegate.bundle.leaf import Doc
from tidegate.bundle.section import Documents
from tidegate.kinds.integrations.core.sharding.model import DefaultImage, ImageBranch

# What the template of a manager is called, in whatever folder of its repository.
TEMPLATE = "qontract-manager"
HASH_LENGTH = 7
_COMMIT = re.compile(r"[0-9a-f]{40}")


class ManagerTarget(msgspec.Struct, frozen=True, kw_only=True):
    """One target of a saas file that deploys a manager."""

    # The files of its environment and its cluster.
    environment: str
    cluster: str
    url: str
    ref: str
    # How much of a commit is the tag of its image.
    length: int
    where: str

    @property
    def tag(self) -> str:
        """The tag of its image; empty: it follows a branch."""
        return self.ref[: self.length] if _COMMIT.fullmatch(self.ref) else ""

    @property
    def answer(self) -> tuple[str, ...]:
        """What two targets must have in common to hand on one image."""
        return (self.tag,) if self.tag else (self.url, self.ref)

    def image(self) -> DefaultImage:
        """The image that it hands on."""
        if self.tag:
            return DefaultImage(tag=self.tag)
        follows = ImageBranch(self.url, self.ref, self.length, self.where)
        return DefaultImage(follows=follows)


class ManagerTargets:
    """Every manager that a bundle deploys."""

    def __init__(self, documents: Documents) -> None:
        # Where a manager may be deployed that cannot be read.
        self._unread = [
            f"{path}:{_line(leaf.findings)}"
            for path, leaf in documents.leaves.items()
            if TEMPLATE in leaf.marks
        ]
        self._known = tuple(dict.fromkeys(self._found(documents)))

    def default(self, environment: str, cluster: str) -> DefaultImage:
        """The image of an environment on a cluster, both given by their files."""
        if self._unread:
            return DefaultImage(why=f"{self._unread[0]} cannot be read, and may deploy a manager")
        here = [each for each in self._known if each.environment == environment]
        mine = [each for each in here if each.cluster == cluster] or here
        answers = {each.answer: each for each in mine}
        if len(answers) > 1:
            told = " and ".join(f"{each.ref} ({each.where})" for each in answers.values())
            return DefaultImage(why=f"its managers are at {told}")
        return mine[0].image() if mine else DefaultImage()

    def _found(self, documents: Documents) -> Iterator[ManagerTarget]:
        every = list(documents.of("settings", "saas-file"))
        length = _length(doc for _, doc in every if doc.kind == "settings")
        for place, doc in every:
            for at, target in _targets(doc) if doc.kind == "saas-file" else ():
                where = place.where(doc, at)
                template = (doc.data or {})["resourceTemplates"][at[1]]
                read = documents.data(target) if "$ref" in target else target
                space = documents.data(read.get("namespace") or {})
                if not space or not isinstance(read.get("ref"), str):
                    self._unread.append(where)
                    continue
                if read.get("disable") or read.get("delete"):
                    continue
                own = template.get("hash_length")
                yield ManagerTarget(
                    environment=_named(space, "environment"),
                    cluster=_named(space, "cluster"),
                    url=str(template.get("url") or ""),
                    ref=read["ref"],
                    length=own if isinstance(own, int) else length,
                    where=where,
                )


def _length(settings: Iterable[Doc]) -> int:
    found = ((doc.data or {}).get("hashLength") for doc in settings)
    return next((each for each in found if isinstance(each, int)), HASH_LENGTH)


def _line(findings: Iterable[Any]) -> int:
    return next((each.line for each in findings if each.severity == "error"), 1)


def _named(space: Mapping[str, Any], field: str) -> str:
    return str((space.get(field) or {}).get("$ref"))


def _targets(doc: Doc) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Each target of a template of a manager, and its path."""
    for i, template in enumerate((doc.data or {}).get("resourceTemplates") or ()):
        if PurePosixPath(str(template.get("path"))).stem == TEMPLATE:
            for k, target in enumerate(template.get("targets") or ()):
                yield ("resourceTemplates", i, "targets", k), target
