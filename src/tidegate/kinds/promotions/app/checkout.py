"""A bundle at one commit with one of its promotions: which versions are written where."""

import functools

from tidegate.git.history import SHORT
from tidegate.git.port import Repository
from tidegate.kinds.promotions.app.ports import PromotionPorts
from tidegate.kinds.promotions.core.model import SCHEMAS, Promotion, promotion_of_schemas
from tidegate.kinds.promotions.files.declared import named, promotions
from tidegate.kinds.promotions.files.files import Files, root_in
from tidegate.kinds.promotions.files.versions import (
    Spot,
    WrittenVersions,
    find_versions,
    versions_at,
)
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest_or_all


class PromotionCheckout:
    """One promotion in a bundle at one commit; the artifact's repository is opened on demand."""

    def __init__(
        self,
        ports: PromotionPorts,
        name: str | None = None,
        base: str = "",
        *,
        to: tuple[str, ...] = (),
        of_schemas: bool = False,
        files: Files | None = None,
    ) -> None:
        """`base`: a revision of the bundle, else its newest; `files`: those of that revision."""
        self.ports = ports
        self.repository = ports.bundle
        self.base = self.repository.resolve(base) if base else self.repository.tip()
        self.root = root_in(self.repository.prefix)
        self.files = files or self.files_at(self.base)
        self.promotion = named(promotions(self.files), name, to)
        self._address = ports.artifact_address
        self._of_schemas = of_schemas
        if of_schemas:
            self._select_schemas()
        check_environments(self.promotion, to)
        self.written = self._find_versions()

    def _select_schemas(self) -> None:
        found = promotion_of_schemas(self.promotion)
        if found is None:
            what = f"the promotion {self.promotion.name} names no schemas"
            remedy = "write schemas: {repository, places} in its document"
            raise UserError((Problem("", what, remedy),))
        self.promotion, self._address = found, self.ports.schemas_address

    def files_at(self, commit: str) -> Files:
        """The files of another commit of the same bundle."""
        return Files(self.repository, commit, self.root)

    def _find_versions(self) -> WrittenVersions:
        found = find_versions(self.files, self.promotion)
        if not found.spots:
            what = f"no place of {self.promotion.name} is in {self.base[:SHORT]}"
            remedy = "name the folder of a bundle (--bundle), or declare a Promotion document"
            causes = {each.why: None for some in found.unread.values() for each in some}
            unread = tuple(Problem("", why) for why in causes)
            raise UserError((Problem(self.ports.folder, what, "" if unread else remedy), *unread))
        return found

    @property
    def unseen(self) -> dict[str, tuple[str, ...]]:
        """Places that should have a version and have none, by environment.

        The built-in promotion has places that a bundle need not have.
        """
        declared, unread = bool(self.promotion.where), self.written.unread
        missing = self.written.missing
        return {name: some for name, some in missing.items() if declared or name in unread}

    @property
    def source_address(self) -> str:
        """Where the artifact's repository is; UserError if it is not declared."""
        if self._address:
            return self._address
        artifact = self.promotion.artifact.repository
        known = [artifact] if artifact else list(self.written.repositories)
        if len(known) == 1:
            return known[0]
        what = "none is named"
        if known:
            what = "several repositories are deployed: " + ", ".join(known)
        raise UserError((Problem("", f"the artifact's repository: {what}", "write --source"),))

    @property
    def public_address(self) -> str:
        """Where people look at the artifact's repository; empty: not known."""
        known = self.written.repositories
        return self.promotion.artifact.repository or (known[0] if len(known) == 1 else "")

    @functools.cached_property
    def source(self) -> Repository:
        """The artifact's repository, as it is now."""
        repositories = self.ports.repositories
        opened = repositories.schemas if self._of_schemas else repositories.artifact
        return opened(self.source_address)

    def schemas(self) -> tuple[Repository, str] | None:
        """The schemas' repository and the commit of them the bundle has; None: there are none."""
        declared = self.promotion.schemas
        if declared is None:
            return None
        written = [each.value for each in versions_at(self.files, SCHEMAS, declared.places).values]
        if not written:
            return None
        address = self.ports.schemas_address or declared.repository
        return self.ports.repositories.schemas(address), written[0]

    def needed_schemas(self, version: str) -> str:
        """The commit of the schemas that a version of the artifact names; empty: it names none.

        UserError if a place is declared for it and does not say it: whether the bundle has these
        schemas is not known.
        """
        declared = self.promotion.schemas
        if declared is None or declared.needed is None:
            return ""
        found = versions_at(Files(self.source, version), SCHEMAS, (declared.needed,))
        if missing := found.missing.get(SCHEMAS):
            what = f"the schemas that {version[:SHORT]} needs are not known: {', '.join(missing)}"
            remedy = "write their commit there, or drop schemas.needed"
            raise UserError((Problem(self.source_address, what, remedy),))
        return found.values[0].value

    def path(self, file: str, line: int) -> str:
        """A line of a file as people find it in the repository."""
        return f"{self.root}{file}:{line}"

    def spots_in(self, environments: tuple[str, ...]) -> tuple[Spot, ...]:
        """Where versions of some environments are written."""
        return tuple(s for s in self.written.spots if s.value.environment in environments)


def every_checkout(
    ports: PromotionPorts, name: str | None = None, base: str = "", *, to: tuple[str, ...] = ()
) -> list[PromotionCheckout]:
    """One for the promotion that is named, or for each that is declared."""
    repository = ports.bundle
    commit = repository.resolve(base) if base else repository.tip()
    files = Files(repository, commit, root_in(repository.prefix))
    names: list[str | None] = [name]
    if name is None and not to:
        names = [each.name for each in promotions(files)]
    return [PromotionCheckout(ports, each, commit, to=to, files=files) for each in names]


def check_environments(promotion: Promotion, to: tuple[str, ...]) -> None:
    """NotFoundError for the name of an environment that the promotion does not have."""
    known = [each.name for each in promotion.environments]
    for each in to:
        if each not in known:
            raise NotFoundError("environment", each, nearest_or_all(each, known))
