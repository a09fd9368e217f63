"""Targets of saas files: found by the name of the file, by environment and by repository.

A target is written in its saas file or in a file of its own; its environment is that of its
namespace, two files away. Only files that can match are read.
"""

from collections.abc import Iterable

import msgspec

from tidegate.edit.place import YamlPlace
from tidegate.edit.tree import Node
from tidegate.kinds.promotions.core.model import SaasPlace
from tidegate.kinds.promotions.files.files import Files, UnreadFile
from tidegate.kinds.promotions.files.patterns import literal, matches

# What is written of a publisher's configuration, in `promotion_data`.
PARENT_CONFIG = "parent_saas_config"
SAAS_SCHEMA = "/app-sre/saas-file-2.yml"


class SaasTarget(msgspec.Struct, frozen=True, kw_only=True):
    """One target: its file, the path to it there, and its name."""

    file: str
    path: str
    document: int
    url: str
    # Its own name, or its namespace; for people.
    note: str

    def place(self, parameter: str) -> YamlPlace:
        """Where its ref or one of its parameters is written."""
        tail = f"parameters.'{parameter}'" if parameter else "ref"
        return YamlPlace(f"{self.path}.{tail}" if self.path else tail, document=self.document)


class SaasTargets(msgspec.Struct, frozen=True):
    """What a place matches, and what may match and is not known."""

    targets: tuple[SaasTarget, ...]
    # Saas files whose name matches, and files that cannot be read: one unread is a cause to stop.
    files: tuple[str, ...]
    unread: tuple[UnreadFile, ...]


def saas_targets(files: Files, place: SaasPlace) -> SaasTargets:
    """Every target that a place matches, of any repository."""
    search = _Search(files, place)
    paths = [p for p in files.holding(literal(place.saas)) if p.endswith((".yml", ".yaml"))]
    search.read_ahead(paths)
    for path in paths:
        search.look_in(path)
    return search.result()


class _Search:
    def __init__(self, files: Files, place: SaasPlace) -> None:
        self._files, self._place = files, place
        self._targets: list[SaasTarget] = []
        self._paths: list[str] = []
        self._unread: dict[UnreadFile, None] = {}

    def result(self) -> SaasTargets:
        """Everything that was found."""
        return SaasTargets(tuple(self._targets), tuple(self._paths), tuple(self._unread))

    def read_ahead(self, paths: Iterable[str]) -> None:
        """Read what all targets refer to at once: their files, namespaces and environments."""
        roots = [root for path in paths for root in self._files.documents(path)]
        templates = [each for root in filter(self._is_meant, roots)
            for each in items(root, "resourceTemplates")]  # fmt: skip
        targets = [target for each in templates for target in items(each, "targets")]
        targets += self._followed(targets)
        if self._place.environment and not self._place.target:
            namespaces = self._followed(field(each, "namespace") for each in targets)
            self._followed(field(each, "environment") for each in namespaces)

    def _followed(self, nodes: Iterable[Node | None]) -> list[Node]:
        """The documents that some nodes refer to, by one process."""
        references = (text(each, "$ref") for each in nodes)
        paths = dict.fromkeys(self._files.referred(each) for each in references if each)
        self._files.ahead(paths)
        return [root for path in paths for root in self._files.documents(path)[:1]]

    def _is_meant(self, root: Node) -> bool:
        name = text(root, "name")
        is_saas = text(root, "$schema") == SAAS_SCHEMA
        return is_saas and bool(name) and matches(self._place.saas, name)

    def look_in(self, path: str) -> None:
        """Find the targets of one file; a file that is no saas file has none."""
        files = self._files
        if (problem := files.problem(path)) and SAAS_SCHEMA in files.text(path):
            self._unread[UnreadFile(path, problem)] = None
        for at, root in enumerate(files.documents(path)):
            if self._is_meant(root):
                self._paths.append(path)
                self._in_saas_file(path, at, root)

    def _in_saas_file(self, path: str, document: int, root: Node) -> None:
        for i, template in enumerate(items(root, "resourceTemplates")):
            for j, target in enumerate(items(template, "targets")):
                where = path, f"resourceTemplates[{i}].targets[{j}]", document
                node: Node | None = target
                reference = text(target, "$ref")
                if reference:
                    where = self._files.referred(reference), "", 0
                    node, unread = self._referred(path, reference)
                    if unread is not None:
                        self._unread[unread] = None
                note = self._meant(where[0], node) if node is not None else None
                if note is not None:
                    url = text(template, "url")
                    self._targets.append(
                        SaasTarget(
                            file=where[0], path=where[1], document=where[2], url=url, note=note
                        )
                    )

    def _meant(self, path: str, target: Node) -> str | None:
        """The name of a target if the place matches it; None: it does not."""
        name = text(target, "name")
        namespace = text(field(target, "namespace"), "$ref")
        if self._place.target and not matches(self._place.target, name):
            return None
        if self._place.environment and not self._is_of_environment(path, name, namespace):
            return None
        return name or namespace.rpartition("/")[2].rpartition(".")[0]

    def _is_of_environment(self, path: str, name: str, namespace: str) -> bool:
        environment, unread = self._environment_of(path, namespace)
        # A target whose environment is unknown is matched by its own name, or its namespace's.
        texts = (environment,) if environment else (name, namespace.rpartition("/")[2])
        is_meant = any(matches(self._place.environment, each) for each in texts if each)
        # A name says that a target is meant, and never that it is not.
        if unread is not None and (not is_meant or self._files.problem(unread.file)):
            self._unread[unread] = None
            return False
        return is_meant

    def _environment_of(self, path: str, namespace: str) -> tuple[str, UnreadFile | None]:
        """The environment of a namespace, or the file for which it is not known."""
        root, unread = self._referred(path, namespace)
        path, reference = self._files.referred(namespace), text(field(root, "environment"), "$ref")
        if unread is None:
            root, unread = self._referred(path, reference)
        return text(root, "name"), unread

    def _referred(self, path: str, reference: str) -> tuple[Node | None, UnreadFile | None]:
        """The document that a file refers to, or why it cannot be read; neither: it names none."""
        referred = self._files.referred(reference)
        root = next(iter(self._files.documents(referred)), None) if reference else None
        if root is not None or not reference:
            return root, None
        why = self._files.problem(referred) or f"{path}: {referred} does not exist"
        return None, UnreadFile(referred, why)


def field(node: Node | None, name: str) -> Node | None:
    """A field of an object, or what it is an alias of; None if there is none."""
    at = node.index_of(name) if node is not None and node.kind == "object" else None
    if node is None or at is None:
        return None
    return node.children[at].target or node.children[at]


def text(node: Node | None, name: str) -> str:
    """The text in a field; empty if there is none."""
    found = field(node, name)
    return found.value if found is not None and found.kind == "scalar" else ""


def items(node: Node | None, name: str) -> list[Node]:
    """The items of a list in a field; none if there is none."""
    found = field(node, name)
    return [each.target or each for each in found.children] if found is not None else []
