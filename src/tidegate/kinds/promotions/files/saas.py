"""Targets of saas files: found by the name of the file, by environment and by repository.

A target is written in its saas file or in a file of its own; its environment is that of its
namespace, two files away. Only files that can match are read.
"""

from collections.abc import Iterator

import msgspec

from tidegate.edit.place import YamlPlace
from tidegate.edit.tree import Node
from tidegate.kinds.promotions.core.model import SaasPlace
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.patterns import literal, matches

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


def targets(files: Files, place: SaasPlace) -> Iterator[SaasTarget]:
    """Every target that a place matches, of any repository."""
    for path in files.holding(literal(place.saas)):
        if not path.endswith((".yml", ".yaml")):
            continue
        for at, root in enumerate(files.documents(path)):
            name = text(root, "name")
            is_saas = text(root, "$schema") == SAAS_SCHEMA
            if is_saas and name and matches(place.saas, name):
                yield from _in_file(files, place, path, at, root)


def _in_file(
    files: Files, place: SaasPlace, path: str, document: int, root: Node
) -> Iterator[SaasTarget]:
    for i, template in enumerate(items(root, "resourceTemplates")):
        for j, target in enumerate(items(template, "targets")):
            where = path, f"resourceTemplates[{i}].targets[{j}]", document
            node: Node | None = target
            reference = text(target, "$ref")
            if reference:
                where = files.referred(reference), "", 0
                node = next(iter(files.documents(where[0])), None)
            found = _meant(files, place, node) if node is not None else None
            if found is not None:
                yield SaasTarget(
                    file=where[0],
                    path=where[1],
                    document=where[2],
                    url=text(template, "url"),
                    note=found,
                )


def _meant(files: Files, place: SaasPlace, target: Node) -> str | None:
    """The name of a target if a place matches it; None: it does not."""
    name = text(target, "name")
    namespace = text(field(target, "namespace"), "$ref")
    if place.target and not matches(place.target, name):
        return None
    if place.environment:
        environment = _environment_of(files, namespace)
        # A target whose environment is unknown is matched by its own name, or its namespace's.
        texts = (environment,) if environment else (name, namespace.rpartition("/")[2])
        if not any(matches(place.environment, each) for each in texts if each):
            return None
    return name or namespace.rpartition("/")[2].rpartition(".")[0]


def _environment_of(files: Files, namespace: str) -> str:
    for root in files.documents(files.referred(namespace)) if namespace else ():
        reference = text(field(root, "environment"), "$ref")
        for environment in files.documents(files.referred(reference)) if reference else ():
            return text(environment, "name")
    return ""


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
