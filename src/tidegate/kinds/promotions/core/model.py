"""A promotion as it is declared: what moves, through which environments, and where it is written.

artifact        a repository, and the image that is built of each of its commits
environment     somewhere a version of it is in use; `after` names those that go first
place           where in the bundle's files that version is written
"""

import enum
import re

import msgspec

# A commit, whole or the beginning of its name; anything else in a place is a branch that is
# followed, and is left alone.
COMMIT = re.compile(r"[0-9a-f]{7,64}")
# So much of a commit's name is its short form, where no other stands; and the least of a whole one.
SHORT, FULL = 7, 40
# What the promotion of schemas is called, and what it moves them to.
SCHEMAS = "schemas"


class Form(enum.Enum):
    """How much of a commit's name is written."""

    SAME = "same"  # as much as stands there now, so that whoever reads it can go on doing so
    FULL = "full"
    SHORT = "short"


class SaasPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Targets of saas files: their `ref`, or one of their parameters."""

    saas: str  # a pattern for the name of the saas file
    # Patterns for the environment of the target's namespace, and for the target; empty: any.
    environment: str = ""
    target: str = ""
    # Instead of `ref`.
    parameter: str = ""
    form: Form = Form.SAME

    def __str__(self) -> str:
        what = f"parameter {self.parameter}" if self.parameter else "ref"
        where = f" in {self.environment}" if self.environment else ""
        return f"{what} of the targets of {self.saas}{where}"


class FilePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Values in files: at a path, behind a key wherever it stands, or on a line with a beginning.

    Exactly one of `at`, `key` and `line` is there.
    """

    file: str  # a pattern for its path
    # Patterns for paths that are not meant.
    without: tuple[str, ...] = ()
    at: str = ""
    key: str = ""
    line: str = ""
    form: Form = Form.SAME

    def __str__(self) -> str:
        return f"{self.at or self.key or self.line!r} in {self.file}"


Place = SaasPlace | FilePlace


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Somewhere a version is in use."""

    name: str
    places: tuple[Place, ...] = ()
    # The branch whose newest commit it always has; empty: it is moved by promotions.
    follows: str = ""
    # Environments that must have a version before it gets here.
    after: tuple[str, ...] = ()


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """What moves: commits of a branch, and the image that is built of each."""

    # Empty: the one that the saas files of its places name.
    repository: str = ""
    # Empty: the repository's own.
    branch: str = ""
    # Without a tag; empty: there is none to look for.
    image: str = ""


class Schemas(msgspec.Struct, frozen=True, kw_only=True):
    """What documents of the bundle are written against; moved on its own, before what needs it."""

    repository: str
    branch: str = ""
    places: tuple[Place, ...] = ()
    # Where the artifact's repository names the commit of them it needs.
    needed: FilePlace | None = None


class Promotion(msgspec.Struct, frozen=True, kw_only=True):
    """One artifact and its way through environments."""

    name: str
    artifact: Artifact
    environments: tuple[Environment, ...]
    schemas: Schemas | None = None
    # Where it is declared; empty: it is the ready-made one.
    where: str = ""

    def environment(self, name: str) -> Environment | None:
        """An environment by its name."""
        return next((each for each in self.environments if each.name == name), None)


def promotion_of_schemas(promotion: Promotion) -> Promotion | None:
    """The schemas of a promotion as one of their own; None: it names none."""
    schemas = promotion.schemas
    if schemas is None:
        return None
    return Promotion(
        name=SCHEMAS,
        artifact=Artifact(repository=schemas.repository, branch=schemas.branch),
        environments=(Environment(name=SCHEMAS, places=schemas.places),),
        where=promotion.where or promotion.name,
    )


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One value that stands at a place now."""

    environment: str
    file: str
    line: int
    value: str
    form: Form
    # Whom it is for, where a file has several: a target's name or namespace.
    note: str = ""

    @property
    def is_commit(self) -> bool:
        """Whether it is a commit, and not a branch that is followed."""
        return COMMIT.fullmatch(self.value) is not None

    def written(self, version: str) -> str:
        """What is to stand here for a version."""
        if self.form is Form.FULL or (self.form is Form.SAME and len(self.value) >= FULL):
            return version
        return version[: len(self.value) if SHORT <= len(self.value) < FULL else SHORT]

    def has(self, version: str) -> bool:
        """Whether just that stands here already."""
        return self.value == self.written(version)


def compare_link(repository: str, old: str, new: str) -> str:
    """Where what lies between two commits can be looked at; empty where no page is known."""
    if not repository.startswith(("https://", "http://")):
        return ""
    return f"{repository.removesuffix('/').removesuffix('.git')}/compare/{old}...{new}"
