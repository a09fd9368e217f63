"""Documents from a seed: good ones changed, and some that are deep, huge, broken or bombs."""

import random
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Good documents of every kind, to be changed.
SAMPLES = tuple(
    path.read_bytes()
    for path in sorted((ROOT / "examples").glob("*"))
    if path.suffix in (".yaml", ".jsonl", ".ics") and path.stat().st_size < 30_000
)
BODIES = (
    b'{"reason": "x", "scope": {"everything": true}}',
    b'{"reason": "x", "scope": {"targets": ["prod-1"], "labels": "env=prod"}, "expires": "2h"}',
    b'{"reason": "x", "groups": ["stage"], "standing": true, "expires": "3d"}',
    b'{"grants": [{"role": "viewer", "subjects": ["token:x"], "rollouts": ["simulated/*"]}]}',
    b'{"servers": [{"name": "main", "url": "http://127.0.0.1:9090"}]}',
)
_PIECES = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80",
    b"\\ud800", b"\\u0000", b"\r", b"\x85", b"\xe2\x80\xa8", b"\t", b"&a ", b"*a", b"<<: *a",
    b"!!binary ", b"!!python/object/apply:os.system [true]", b"!!timestamp ", b"%YAML 9.9\n",
    b"---\n", b"...\n", b"? ", b"- ", b"|\n", b">-\n", b"{", b"}", b"[", b"]", b'"', b"'", b",",
    b": ", b"#", b"@", b"`", b"1e999", b"-1e-999", b".nan", b"-.inf", b"0x7fffffffffffffff",
    b"9" * 400, b"-0", b"1_000", b"010", b"99:99:99", b"2026-13-45T99:99:99Z", b"0001-01-01",
    b"9999-12-31T23:59:60Z", b"null", b"~", b"true", b"P1000000000Y", b"999999999999999d",
    b"-5m", b"101%", b"1e3%", b"../../etc/passwd", b"$(x)", b"%s%n", b"__proto__",
    b"\xf0\x9f\x98\x80" * 40, b"a" * 5_000,
)  # fmt: skip


def _changed(rng: random.Random, raw: bytes) -> bytes:
    """A good document with some bytes cut, doubled, replaced or put in."""
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at, span = rng.randrange(len(data) + 1), rng.choice((1, 3, 20, 200))
        match rng.randrange(6):
            case 0:
                del data[at : at + span]
            case 1:
                data[at:at] = rng.choice(_PIECES)
            case 2:
                data[at : at + span] = rng.choice(_PIECES)
            case 3:
                data[at:at] = data[at : at + span] * rng.choice((1, 2, 50))
            case 4:
                data[at : at + 1] = rng.randbytes(1)
            case _:
                del data[at:]
    return bytes(data[: 1 << 20])


def _deep(rng: random.Random, raw: bytes) -> bytes:
    levels = rng.choice((10, 63, 65, 500, 1_000, 40_000))
    opens, closes = rng.choice(
        (
            (b"[", b"]"),
            (b'{"a":', b"}"),
            (b"{a: ", b"}"),
            (b"- ", b""),
            (b"? ", b""),
            (b"&x [", b"]"),
        )
    )
    inner = rng.choice((b"1", b"", raw[:200]))
    return opens * levels + inner + closes * rng.choice((0, levels - 1, levels))


def _huge(rng: random.Random, raw: bytes) -> bytes:
    size = rng.choice((1_000, 20_000, 200_000))
    return rng.choice(
        (
            b"a: " + b"x" * size,
            b'"' + b"\\u00e9" * (size // 6) + b'"',
            b"\n".join(b"k%d: %d" % (at, at) for at in range(size // 10)),
            b"[" + b"1," * (size // 2) + b"1]",
            b"[" + b"{}," * (size // 4) + b"{}]",
            raw * (size // max(1, len(raw)) + 1),
            b"a" * size + b": 1",
            b" " * size + b"a: 1",
            b"#" * size,
            b"BEGIN:VEVENT\n" * (size // 20),
        )
    )


def _bomb(rng: random.Random, _: bytes) -> bytes:
    levels, wide = rng.choice((3, 9, 30)), rng.choice((2, 9, 50))
    lines = [b"a0: &a0 [x, x]"]
    lines += [
        b"a%d: &a%d [%s]" % (at, at, b", ".join([b"*a%d" % (at - 1)] * wide))
        for at in range(1, levels)
    ]
    merged = b"m: {<<: [" + b", ".join(b"*a%d" % at for at in range(levels)) + b"]}"
    itself = b"a: &a {b: *a, <<: *a}"
    return rng.choice((b"\n".join(lines), b"\n".join((*lines, merged)), itself))


def _noise(rng: random.Random, _: bytes) -> bytes:
    if rng.random() < 0.5:
        return rng.randbytes(rng.choice((0, 1, 10, 1_000)))
    return b"".join(rng.choices(_PIECES, k=rng.choice((1, 5, 50))))


_WAYS: tuple[tuple[Callable[[random.Random, bytes], bytes], int], ...] = (
    (_changed, 80),
    (_deep, 7),
    (_huge, 3),
    (_bomb, 3),
    (_noise, 7),
)


def document(seed: int) -> bytes:
    """The document of a seed."""
    rng = random.Random(seed)
    way = rng.choices([each for each, _ in _WAYS], [often for _, often in _WAYS])[0]
    return way(rng, rng.choice(rng.choice((SAMPLES, BODIES))))
