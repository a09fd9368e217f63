"""JSON that comes from elsewhere: every decoder of the package is made here.

msgspec stops at the interpreter's recursion limit, by a RecursionError that callers would not
expect, and at bytes that are no UTF-8 by a UnicodeDecodeError; here both are a DecodeError like any
other fault of a text. How long a text may be is up to its
reader: each has a limit of its own.
"""

from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

_TOO_DEEP = "nested too deeply to be read"
_NO_TEXT = "a text in it is no UTF-8"


@overload
def decode_json(raw: bytes | str | msgspec.Raw, kind: type[T]) -> T: ...


@overload
def decode_json(raw: bytes | str | msgspec.Raw, kind: Any = Any) -> Any: ...


def decode_json(raw: bytes | str | msgspec.Raw, kind: Any = Any) -> Any:
    """The value of a text; msgspec.DecodeError says what is wrong with it."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except RecursionError:
        raise msgspec.DecodeError(_TOO_DEEP) from None
    except UnicodeError:
        raise msgspec.DecodeError(_NO_TEXT) from None


@overload
def json_decoder(kind: type[T]) -> Callable[[bytes | str | msgspec.Raw], T]: ...


@overload
def json_decoder(kind: Any) -> Callable[[bytes | str | msgspec.Raw], Any]: ...


def json_decoder(kind: Any) -> Callable[[bytes | str | msgspec.Raw], Any]:
    """The same for many texts of one kind: the type is looked at once."""
    decode = msgspec.json.Decoder(kind).decode

    def read(raw: bytes | str | msgspec.Raw) -> Any:
        try:
            return decode(raw)
        except RecursionError:
            raise msgspec.DecodeError(_TOO_DEEP) from None
        except UnicodeError:
            raise msgspec.DecodeError(_NO_TEXT) from None

    return read
