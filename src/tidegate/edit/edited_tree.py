"""A bundle as it would be with some of its files changed, nothing of which is written yet."""

from collections.abc import Iterable, Iterator, Mapping

from tidegate.git.tree_port import Tree, identity_of, is_read


class EditedTree:
    """A tree with other contents at some paths."""

    def __init__(self, tree: Tree, changed: Mapping[str, bytes]) -> None:
        """`changed` is by path in the repository: what is not of the bundle does not matter."""
        self._tree = tree
        inside = {
            path.removeprefix(tree.prefix): content
            for path, content in changed.items()
            if path.startswith(tree.prefix)
        }
        self._changed = {path: content for path, content in inside.items() if is_read(path)}

    @property
    def prefix(self) -> str:
        """Where in the repository the bundle is."""
        return self._tree.prefix

    def files(self) -> dict[str, str]:
        """Every file, those that are changed with what they would be."""
        new = {path: identity_of(content) for path, content in self._changed.items()}
        return dict(sorted({**self._tree.files(), **new}.items()))

    def read(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Contents in the order asked for."""
        wanted = tuple(paths)
        rest = self._tree.read(path for path in wanted if path not in self._changed)
        for path in wanted:
            yield (path, self._changed[path]) if path in self._changed else next(rest)
