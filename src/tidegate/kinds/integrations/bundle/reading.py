"""Reads a bundle: every file once, and never again while it stays the same.

What a file says is kept under its identity, and the whole under the identities of all files and
their paths. Both are salted with the text of the programs that work it out, so that a newer
Tidegate believes nothing an older one kept.
"""

import gc
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import msgspec

import tidegate
from tidegate.git.tree_port import Tree
from tidegate.kinds.integrations.bundle.joining import Bundle, joined
from tidegate.kinds.integrations.bundle.leaf import Leaf, decode_leaf, encode_leaf, read_leaf
from tidegate.kinds.integrations.bundle.places import Places
from tidegate.machine.cache import Cache

# Told how many more files are done.
Tell = Callable[[int], None]
_KEY_BYTES, _SALT_BYTES = 32, 16
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Bundle).decode


def read_bundle(tree: Tree, cache: Cache, tell: Tell | None = None) -> Bundle:
    """The bundle in a tree."""
    files = tree.files()
    key = _key(part for item in files.items() for part in item)
    known = cache.get((key,)).get(key)
    if known is not None:
        with suppress(msgspec.MsgspecError):
            return _decode(known)
    with _Uncollected():
        leaves = _leaves(tree, files, cache, tell or (lambda _: None))
        bundle = joined(leaves, Places(lambda path: next(iter(tree.read((path,))))[1]))
    cache.put({key: _encode(bundle)})
    return bundle


def _leaves(tree: Tree, files: Mapping[str, str], cache: Cache, tell: Tell) -> dict[str, Leaf]:
    salt = _salt()[:_SALT_BYTES]
    keys = {path: salt + bytes.fromhex(identity) for path, identity in files.items()}
    known = cache.get(set(keys.values()))
    found: dict[str, Leaf] = {}
    for path, key in keys.items():
        if key in known:
            with suppress(msgspec.MsgspecError):
                found[path] = decode_leaf(known[key])
    tell(len(found))
    fresh: dict[bytes, bytes] = {}
    missing = [path for path in files if path not in found]
    for path, raw in tree.read(missing):
        found[path] = read_leaf(raw)
        fresh[keys[path]] = encode_leaf(found[path])
        tell(1)
    if fresh:
        cache.put(fresh)
    return {path: found[path] for path in files}


class _Uncollected:
    """No garbage is looked for while much is made that stays."""

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()


def _key(parts: Iterable[str]) -> bytes:
    text = "\0".join(parts).encode(errors="surrogateescape")
    return blake2b(text, key=_salt(), digest_size=_KEY_BYTES).digest()


@lru_cache(maxsize=1)
def _salt() -> bytes:
    """Something that changes whenever what is kept would be worked out differently."""
    digest = blake2b(digest_size=_KEY_BYTES)
    for path in _programs(Path(tidegate.__file__).parent):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()


def _programs(root: Path) -> Iterable[Path]:
    """Every file that takes part in reading a bundle."""
    folders = (root / "documents", root / "model")
    kinds = (root / "kinds").glob("*/*")
    parts = (folder for folder in kinds if folder.name in ("bundle", "core", "wire"))
    for folder in (*folders, *sorted(parts)):
        yield from sorted(p for p in folder.rglob("*.*") if p.suffix in (".py", ".json"))
