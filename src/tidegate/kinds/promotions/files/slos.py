"""SLO documents of a bundle: what is asked of which Prometheus, and what it must reach."""

from collections.abc import Iterator

from tidegate.edit.tree import Node
from tidegate.kinds.promotions.core.channels.sources import SloDocument
from tidegate.kinds.promotions.files.files import Files
from tidegate.kinds.promotions.files.saas import field, items, text

# How an expression names the window that its parameters give.
_WINDOW = "{{window}}", "{{ window }}"


def slo_documents(
    files: Files, reference: str, troubles: list[str]
) -> tuple[str, tuple[SloDocument, ...]]:
    """The name of an SLO document and every SLO in it; empty and none: it cannot be read."""
    path = files.referred(reference)
    root = next(iter(files.documents(path)), None) if reference else None
    if root is None:
        troubles.append(files.problem(path) or f"the SLO document {path} does not exist")
        return "", ()
    name = text(root, "name") or path
    return name, tuple(_slos(files, name, root))


def _slos(files: Files, name: str, root: Node) -> Iterator[SloDocument]:
    urls = [_url(files, each) for each in items(root, "namespaces")] or [""]
    for each in items(root, "slos"):
        query = text(each, "expr")
        window = text(field(each, "SLOParameters"), "window")
        for spelling in _WINDOW:
            query = query.replace(spelling, window)
        for url in dict.fromkeys(urls):
            yield SloDocument(
                document=name,
                name=text(each, "name"),
                url=url,
                query=query,
                target=text(each, "SLOTarget"),
            )


def _url(files: Files, namespace: Node) -> str:
    """The Prometheus of a namespace: its own, or its cluster's."""
    own = text(field(namespace, "prometheusAccess"), "url")
    if own:
        return own
    root = _root(files, text(field(namespace, "namespace"), "$ref"))
    return text(_root(files, text(field(root, "cluster"), "$ref")), "prometheusUrl")


def _root(files: Files, reference: str) -> Node | None:
    return next(iter(files.documents(files.referred(reference))), None) if reference else None
