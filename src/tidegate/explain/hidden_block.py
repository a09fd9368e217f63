"""Data of ours in a text that people read: one comment of HTML, which forges keep and do not show.

    <!-- tidegate-pipeline {"version":1} -->

Around it is text of others, in which the subject of a commit may look just like it: no comment but
ours is left in a text that is written here.
"""

import re

_BEGIN, _END = "<!--", "-->"


class HiddenBlock:
    """The blocks of one name."""

    def __init__(self, name: str) -> None:
        self._start = f"{_BEGIN} {name} "
        self._block = re.compile(re.escape(self._start) + rf"([^\r\n]*?) {_END}")

    def written(self, json: str) -> str:
        """A block with data, on one line; nothing in the data can end it early."""
        plain = json.replace("<", "\\u003c").replace(">", "\\u003e")
        return f"{self._start}{plain} {_END}"

    def added(self, text: str, json: str) -> str:
        """A text with one block at its end, in place of those that it had."""
        return f"{self.removed(text)}\n\n{self.written(json)}\n"

    def removed(self, text: str) -> str:
        """What people read."""
        return self._block.sub("", text).replace(_BEGIN, "<! --").rstrip()

    def found(self, text: str) -> list[str]:
        """The data of every block in a text."""
        return self._block.findall(text)
