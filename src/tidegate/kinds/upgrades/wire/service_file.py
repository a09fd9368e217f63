"""The file that says who is served, as the setting `upgrades` names it."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from tidegate.documents.files import bounded_text
from tidegate.documents.reader import Reader
from tidegate.documents.strict_yaml import YamlDocument, read_yaml
from tidegate.kinds.upgrades.core.labels.bundled import Bundled
from tidegate.kinds.upgrades.core.service import Credentials, UpgradeService
from tidegate.kinds.upgrades.wire.bundled_service import check_secrets, with_bundle
from tidegate.kinds.upgrades.wire.service_doc import bundle_named, read_service
from tidegate.model.errors import UserError
from tidegate.model.problem import Problem, Problems


class ServiceFile(msgspec.Struct, frozen=True):
    """Who is served, and what looked odd on the way."""

    service: UpgradeService
    warnings: tuple[Problem, ...] = ()


def read_service_file(
    path: Path, read_bundled: Callable[[str], Bundled] | None = None
) -> ServiceFile:
    """Who a file says is served; UserError lists all that is wrong with it, each with its line.

    A bundle is read only if the file asks for it, with its directory if the file names one.
    """
    document, problems = _document(path), Problems()
    data = document.data
    folder = _bundle_beside(path, data)
    if isinstance(data, dict) and folder is not None and read_bundled is not None:
        bundled = read_bundled(folder)
        service = read_service(with_bundle(data, bundled, problems), problems)
        check_secrets(service, bundled, problems)
        for gap in bundled.gaps:
            problems.warn("bundle", gap, "who stands there is not served")
    else:
        service = read_service(data, problems)
    if problems.errors:
        raise UserError(document.located(problems.errors))
    return ServiceFile(_seen_from(path.parent, service), document.located(problems.warnings))


def named_bundle(path: Path) -> str:
    """The directory of the bundle that a file names; empty: it names none."""
    return _bundle_beside(path, _document(path).data) or ""


def _bundle_beside(path: Path, data: object) -> str | None:
    """The bundle of a document, seen from its file; empty: the settings'; None: there is none."""
    named = bundle_named(Reader(data if isinstance(data, dict) else {}, "", Problems()))
    return str(path.parent / named) if named else named


def _document(path: Path) -> YamlDocument:
    try:
        text = bounded_text(path)
    except (OSError, UnicodeDecodeError) as error:
        what = (getattr(error, "strerror", None) or "not UTF-8").lower()
        remedy = "name a file with environments and organizations"
        raise UserError((Problem("upgrades", what, remedy),), where=str(path)) from None
    return read_yaml(str(path), text)


def _seen_from(folder: Path, service: UpgradeService) -> UpgradeService:
    """Files that hold secrets are seen from where the document is."""
    return msgspec.structs.replace(
        service,
        environments=tuple(
            msgspec.structs.replace(each, credentials=_beside(folder, each.credentials))
            for each in service.environments
        ),
        organizations=tuple(
            each
            if each.credentials is None
            else msgspec.structs.replace(each, credentials=_beside(folder, each.credentials))
            for each in service.organizations
        ),
    )


def _beside(folder: Path, found: Credentials) -> Credentials:
    def seen(secret: str) -> str:
        place, _, name = secret.partition("file:")
        return f"file:{folder / name}" if not place and name else secret

    return Credentials(found.client_id, seen(found.client_secret), seen(found.token))
