"""A promotion as declared: an artifact, its environments, and where each names its version.

artifact        a repository, and the image that is built from each of its commits
environment     where a version is in use; `after` names the environments that go first
place           where in the files of the bundle the version of an environment is written
"""

import enum
import re

import msgspec

from tidegate.git.history import FULL, SHORT

# A commit, in full or abbreviated. Any other text at a place is a branch that the environment
# follows; promotions do not change it.
COMMIT = re.compile(r"[0-9a-f]{7,64}")
# The name of the promotion of schemas, and of its only environment.
SCHEMAS = "schemas"


class CommitForm(enum.Enum):
    """How many digits of a commit are written."""

    SAME = "same"  # as many as are written now, so that readers of the file keep working
    FULL = "full"
    SHORT = "short"


class SaasPlace(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="saas"):
    """Targets of saas files: their `ref`, or one of their parameters."""

    saas: str  # a pattern for the name of the saas file
    # Patterns for the environment of the target's namespace, and for the target; empty: any.
    environment: str = ""
    target: str = ""
    # Instead of `ref`.
    parameter: str = ""
    form: CommitForm = CommitForm.SAME

    def __str__(self) -> str:
        what = f"parameter {self.parameter}" if self.parameter else "ref"
        where = f" in {self.environment}" if self.environment else ""
        return f"{what} of the targets of {self.saas}{where}"


class FilePlace(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="file"):
    """Values in files: at a path, behind a key anywhere in the file, or after the start of a line.

    Exactly one of `at`, `key` and `line` is set.
    """

    file: str  # a pattern for its path
    # Patterns for paths to exclude.
    without: tuple[str, ...] = ()
    at: str = ""
    key: str = ""
    line: str = ""
    form: CommitForm = CommitForm.SAME

    def __str__(self) -> str:
        return f"{self.at or self.key or self.line!r} in {self.file}"


Place = SaasPlace | FilePlace


class PromotionEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """Where a version is in use."""

    name: str
    places: tuple[Place, ...] = ()
    # The branch whose newest commit it always runs; empty: promotions move it.
    follows: str = ""
    # Environments that must have a version before this one gets it.
    after: tuple[str, ...] = ()


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """What moves: commits of a branch, and the image that is built from each."""

    # Empty: the repository that the saas files of its places name.
    repository: str = ""
    # Empty: the default branch of the repository.
    branch: str = ""
    # Without a tag; empty: no image is checked.
    image: str = ""


class Schemas(msgspec.Struct, frozen=True, kw_only=True):
    """The schemas of the bundle's documents; promoted on their own, before what needs them."""

    repository: str
    branch: str = ""
    places: tuple[Place, ...] = ()
    # Where the artifact's repository names the commit of the schemas that it needs.
    needed: FilePlace | None = None


class Promotion(msgspec.Struct, frozen=True, kw_only=True):
    """One artifact and its way through environments."""

    name: str
    artifact: Artifact
    environments: tuple[PromotionEnvironment, ...]
    schemas: Schemas | None = None
    # Where it is declared; empty: it is the built-in one.
    where: str = ""

    def environment(self, name: str) -> PromotionEnvironment | None:
        """An environment by its name."""
        return next((each for each in self.environments if each.name == name), None)


def promotion_of_schemas(promotion: Promotion) -> Promotion | None:
    """The schemas of a promotion as a promotion of their own; None: it names none."""
    schemas = promotion.schemas
    if schemas is None:
        return None
    return Promotion(
        name=SCHEMAS,
        artifact=Artifact(repository=schemas.repository, branch=schemas.branch),
        environments=(PromotionEnvironment(name=SCHEMAS, places=schemas.places),),
        where=promotion.where or promotion.name,
    )


class WrittenVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version as it is written in a file now."""

    environment: str
    file: str
    line: int
    value: str
    form: CommitForm
    # The name or namespace of the target, where a file has several.
    note: str = ""

    @property
    def is_commit(self) -> bool:
        """Whether it is a commit, and not a branch that is followed."""
        return COMMIT.fullmatch(self.value) is not None

    def text_for(self, version: str) -> str:
        """What is to be written here for a version."""
        full = self.form is CommitForm.FULL
        if full or (self.form is CommitForm.SAME and len(self.value) >= FULL):
            return version
        return version[: len(self.value) if SHORT <= len(self.value) < FULL else SHORT]

    def has(self, version: str) -> bool:
        """Whether exactly that is written here already."""
        return self.value == self.text_for(version)


def compare_link(repository: str, old: str, new: str) -> str:
    """The page that shows the commits between two; empty where no page is known."""
    if not repository.startswith(("https://", "http://")):
        return ""
    return f"{repository.removesuffix('/').removesuffix('.git')}/compare/{old}...{new}"
