"""Targets of saas files that take part in promotions: what each says, and what cannot be read.

A target is written in its saas file or in a file of its own; cluster and environment are those of
its namespace. A target that cannot be read in full is kept with its troubles: a subscriber with
one waits, and a channel that it may publish to is not known.
"""

from collections.abc import Iterator

import msgspec

from tidegate.edit.tree import Node
from tidegate.kinds.promotions.core.channels.sources import TargetPlace
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.saas import SAAS_SCHEMA, field, items, text

_YAML = (".yml", ".yaml")
_TRUE = ("true", "yes", "on")
_PROMOTION = "promotion"


class PromotedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A target with a `promotion`, as it is written."""

    place: TargetPlace
    node: Node
    troubles: tuple[str, ...] = ()

    @property
    def promotion(self) -> Node | None:
        """Its `promotion`."""
        return field(self.node, _PROMOTION)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of its `promotion`."""
        return tuple(each.value for each in items(self.promotion, name) if each.kind == "scalar")

    def flag(self, name: str) -> bool:
        """A flag of its `promotion`."""
        return text(self.promotion, name).lower() in _TRUE


class PromotedTargets:
    """Every target with a `promotion` in the saas files of a bundle, at one commit."""

    def __init__(self, files: Files) -> None:
        self._files = files
        # Saas files that cannot be read, and why: what they have is not known.
        self.unread: dict[str, str] = {}
        self.nodes = tuple(self._search())

    def _search(self) -> Iterator[PromotedNode]:
        files = self._files
        paths = [path for path in files.holding(SAAS_SCHEMA) if path.endswith(_YAML)]
        for path in paths:
            if problem := files.problem(path):
                self.unread[path] = problem
                continue
            for at, root in enumerate(files.documents(path)):
                if text(root, "$schema") == SAAS_SCHEMA:
                    yield from self._in_saas_file(path, at, root)

    def _in_saas_file(self, path: str, document: int, root: Node) -> Iterator[PromotedNode]:
        reference = text(field(root, "app"), "$ref")
        app = text(self._follow(reference, path, []), "name")
        for i, template in enumerate(items(root, "resourceTemplates")):
            for j, target in enumerate(items(template, "targets")):
                where = path, f"resourceTemplates[{i}].targets[{j}]", document
                node: Node | None = target
                if reference := text(target, "$ref"):
                    where = self._files.referred(reference), "", 0
                    node = self._referred(path, reference)
                if node is None or field(node, _PROMOTION) is None or _is_off(node):
                    continue
                names = text(root, "name"), text(template, "name"), text(template, "url")
                yield self._promoted(where, node, names, app)

    def _referred(self, path: str, reference: str) -> Node | None:
        """The document a saas file refers to; one that cannot be read is said to be unread."""
        file = self._files.referred(reference)
        found = next(iter(self._files.documents(file)), None)
        if found is None:
            self.unread[file] = self._files.problem(file) or f"{path}: {file} does not exist"
        return found

    def _promoted(
        self, where: tuple[str, str, int], node: Node, names: tuple[str, str, str], app: str
    ) -> PromotedNode:
        troubles: list[str] = []
        reference = text(field(node, "namespace"), "$ref")
        if not reference:
            selects = field(node, "namespaceSelector") is not None
            what = "a namespaceSelector is not worked out" if selects else "it has no namespace"
            remedy = "write a target with `namespace` for each"
            troubles.append(f"{where[0]}:{node.line}: {what}: {remedy}")
        namespace = self._follow(reference, where[0], troubles)
        cluster = self._named(namespace, "cluster", reference, troubles)
        environment = self._named(namespace, "environment", reference, troubles)
        where_to = text(field(namespace, "environment"), "$ref")
        saas, template, url = names
        place = TargetPlace(
            saas=saas,
            template=template,
            target=text(node, "name"),
            cluster=cluster,
            namespace=text(namespace, "name"),
            environment=environment,
            phase=text(self._follow(where_to, reference, []), "servicePhase"),
            file=where[0],
            path=where[1],
            document=where[2],
            namespace_ref=reference,
            url=url,
            app=app,
        )
        return PromotedNode(place=place, node=node, troubles=tuple(troubles))

    def _named(self, node: Node | None, name: str, where: str, troubles: list[str]) -> str:
        """The name of what a field of a document refers to."""
        if node is None:
            return ""
        reference = text(field(node, name), "$ref")
        if not reference:
            troubles.append(f"{self._files.referred(where)}: no {name}")
            return ""
        return text(self._follow(reference, where, troubles), "name")

    def _follow(self, reference: str, where: str, troubles: list[str]) -> Node | None:
        if not reference:
            return None
        file = self._files.referred(reference)
        found = next(iter(self._files.documents(file)), None)
        if found is None:
            troubles.append(self._files.problem(file) or f"{where}: {file} does not exist")
        return found


def _is_off(target: Node) -> bool:
    """Whether a target is disabled, or about to be deleted: it takes no part."""
    return any(text(target, name).lower() in _TRUE for name in ("disable", "delete"))
