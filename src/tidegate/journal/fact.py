"""What every fact of a journal has, and what facts of all kinds of change share."""

import enum

import msgspec


class Fact(msgspec.Struct, frozen=True, tag_field="is", kw_only=True, omit_defaults=True):
    """Something that happened. `v` is the version of its form."""

    v: int = 1


class Mode(enum.Enum):
    """Whether a plan is carried out."""

    OBSERVE = "observe"  # it is recorded what would have been done
    ACT = "act"
