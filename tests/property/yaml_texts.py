"""YAML texts as people write them: every style, comments anywhere, anchors, CRLF, no last newline.

A text is drawn piece by piece, not printed from data by a library, so that its odd indentation,
quotes and comments are no one's convention.
"""

from random import Random

from hypothesis import strategies as st

# On one line; the second half has a meaning that readers disagree about, or is more than a text.
LEXEMES = (
    "abc", "f929a38", "a b", "http://x.y/z", "'it''s'", "'a # b'", '"q\\"\\n"', '"é"', "😀", "a:b",
    "1234567", "12e4567", "0302051", "yes", "4.10", "null", "~", "true", "", "-1", "2026-01-01",
    "!!str 12", "! x",
)  # fmt: skip
BLOCKS = (("|", "text", "  more"), (">-", "folded", "", "text"), ("|+", "kept", ""), ("|2", " x"))
KEYS = ("a", "b", "ref", "name", "'q k'", "$ref", "image.tag", "é", "on")


class Pen:
    """Writes one document, line by line."""

    def __init__(self, random: Random, *, anchors: bool) -> None:
        self.random = random
        self.anchors = anchors
        self.lines: list[str] = []
        self._names: list[str] = []
        self._count = 0

    def odds(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.random.randrange(one_in) == 0

    def put(self, line: str, *, comment: bool = True) -> None:
        """A line, with what people leave around lines."""
        self.lines.append(line + (self.random.choice(("", "", " # c", "  ")) if comment else ""))
        if comment and self.odds(5):
            self.lines.append(self.random.choice(("", "# - c", "      # a: c", "  # c")))

    def one_line(self, depth: int, *, flow: bool = False) -> str:
        """A value that fits on a line."""
        if depth < 3 and self.odds(4):
            return self.brackets(depth + 1)
        if self.anchors and self._names and self.odds(4):
            return "*" + self.random.choice(self._names) + " " * flow
        lexeme = self.random.choice(LEXEMES)
        if flow and (lexeme in {"", "! x", "!!str 12"} or ":" in lexeme):
            lexeme = "x"
        return self.anchor() + lexeme

    def anchor(self) -> str:
        """Sometimes a name for what follows."""
        if not self.anchors or not self.odds(4):
            return ""
        self._count += 1
        self._names.append(f"n{self._count}")
        return f"&n{self._count} "

    def brackets(self, depth: int) -> str:
        """A list or an object within brackets."""
        size, gap = self.random.randrange(4), self.random.choice(("", " "))
        parts = [self.one_line(depth, flow=True) for _ in range(size)]
        if self.odds(2):
            return f"[{gap}{', '.join(parts)}{gap}]"
        names = self.random.sample(KEYS, size)
        return "{" + gap + ", ".join(f"{k}: {v}" for k, v in zip(names, parts, strict=True)) + "}"

    def block(self, indent: int, depth: int, first: str = "") -> None:
        """A list or an object on lines of its own; `first` is what its first line begins with."""
        prefixes = [first or " " * indent] + [" " * indent] * 3
        size = self.random.randrange(1, 4)
        if self.odds(2):
            for prefix in prefixes[:size]:
                self.item(prefix, indent, depth)
        else:
            keys = self.random.sample(KEYS, size)
            for key, prefix in zip(keys, prefixes[:size], strict=True):
                self.field(prefix + key + ":", indent, depth)

    def item(self, prefix: str, indent: int, depth: int) -> None:
        """One item of a list."""
        gap = " " * self.random.choice((1, 1, 1, 3))
        if depth < 3 and self.odds(2):
            self.block(indent + 1 + len(gap), depth + 1, prefix + "-" + gap)
        else:
            self.put(f"{prefix}-{gap}{self.one_line(depth)}")

    def field(self, name: str, indent: int, depth: int) -> None:
        """One field of an object."""
        deeper = indent + self.random.choice((1, 2, 2, 4))
        if depth < 3 and self.odds(3):
            self.put(f"{name} {self.anchor()}".rstrip())
            self.block(deeper, depth + 1)
        elif self.odds(6):
            header, *lines = self.random.choice(BLOCKS)
            if header == "|2":
                deeper = indent + 2
            self.put(f"{name} {header}", comment=False)
            for line in lines:
                self.put((" " * deeper + line) if line else "", comment=False)
        else:
            self.put(f"{name} {self.one_line(depth)}")


@st.composite
def yaml_texts(draw: st.DrawFn, *, anchors: bool = True) -> str:
    """One to three documents in one text."""
    random = draw(st.randoms(use_true_random=False))
    lines: list[str] = []
    for number in range(draw(st.sampled_from((1, 1, 1, 2, 3)))):
        pen = Pen(random, anchors=anchors)
        if number or pen.odds(3):
            lines.append(random.choice(("---", "--- # c")))
        pen.block(random.choice((0, 0, 0, 2)), 0)
        lines += pen.lines
    newline = draw(st.sampled_from(("\n", "\n", "\r\n")))
    return newline.join(lines) + draw(st.sampled_from((newline, newline, "", newline * 2)))
