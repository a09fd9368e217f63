"""What is served, as a document: environments of OpenShift Cluster Manager, and organisations.

    environments:
      - name: prod
        url: https://api.openshift.com
        tokenUrl: https://sso.example.com/token
        clientId: tidegate
        clientSecret: env:OCM_SECRET
    organizations:
      - {id: o-payments, name: Payments, environment: prod}

Only organisations that are listed are served. A secret is referenced, not written; one that is
written anyway works, with a warning. Nothing secret is sent over plain HTTP to another machine.
"""

import enum
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from tidegate.documents.probe import url_trouble
from tidegate.documents.reader import Reader
from tidegate.gates.block import is_like
from tidegate.kinds.upgrades.core.rules.agreements import APPROVER
from tidegate.kinds.upgrades.core.rules.fleet import SERVICE
from tidegate.kinds.upgrades.core.rules.gates import TELEMETER
from tidegate.kinds.upgrades.core.service import (
    Credentials,
    OcmEnvironment,
    Registration,
    RuleSet,
    UpgradeService,
)
from tidegate.kinds.upgrades.core.world import HealthCheck
from tidegate.model.problem import Problems, nearest_or_all, shown
from tidegate.net.address import is_loopback

SERVICES = (SERVICE, APPROVER)
_ADDONS = (1, 2)
# Both are parts of the names of journals.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_NAME_REMEDY = "write letters, digits, dots, dashes"
_REFERENCE_REMEDY = "write env:NAME or file:PATH"


class Severity(enum.Enum):
    """How loud alerts about an environment are."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    WARNING = "warning"
    INFO = "info"


def read_service(document: object, problems: Problems) -> UpgradeService:
    """All that is served; what is wrong with the document is in the problems."""
    reader = Reader(document, "", problems)
    bundle_named(reader)
    for name, of in (("environments", "{name, url}"), ("organizations", "{id, name, environment}")):
        if not reader.has(name):
            problems.add(name, "missing", f"write a list of {of}")
    service = UpgradeService(
        environments=tuple(map(_environment, reader.children("environments"))),
        organizations=tuple(map(_organization, reader.children("organizations"))),
        include=tuple(reader.texts("include")) if reader.has("include") else ("*",),
        exclude=tuple(reader.texts("exclude")),
    )
    reader.close()
    check_service(service, problems)
    return service


def bundle_named(reader: Reader) -> str | None:
    """The bundle that says who else is served; empty: that of the settings; None: there is none."""
    found = reader.raw("bundle")
    if found is None or isinstance(found, bool):
        return "" if found else None
    if not isinstance(found, str) or not found:
        wrong = f"{shown(found)} is no bundle"
        reader.problems.add(reader.at("bundle"), wrong, "write its directory, or true")
        return None
    return found


def check_service(service: UpgradeService, problems: Problems) -> None:
    """What no single entry shows: names used twice, names that lead nowhere, what is missing."""
    _no_twins("environments", (each.name for each in service.environments), problems)
    _no_twins("organizations", (each.id for each in service.organizations), problems)
    for field, patterns in (("include", service.include), ("exclude", service.exclude)):
        _of_somebody(field, patterns, [each.id for each in service.organizations], problems)
    for i, each in enumerate(service.organizations):
        path, environment = f"organizations[{i}]", service.environment(each.environment)
        if environment is None:
            if each.environment:
                names = [one.name for one in service.environments]
                wrong = f"no environment {shown(each.environment)}"
                problems.add(f"{path}.environment", wrong, nearest_or_all(each.environment, names))
            continue
        if each.health_checks and not environment.prometheus:
            wrong = f"the environment {environment.name} names no Prometheus to ask"
            remedy = "write prometheus there; what is enforced holds until then"
            problems.warn(f"{path}.healthChecks", wrong, remedy)
        if each.credentials is not None and each.credentials.client_secret:
            _needs_token_url(f"{path}.credentials", environment.token_url, problems)


def read_credentials(reader: Reader) -> Credentials:
    """Who we are there; the reader is not closed, for there may be more beside."""
    found = Credentials(
        client_id=_filled(reader, "clientId"),
        client_secret=_secret(reader, "clientSecret"),
        token=_secret(reader, "token"),
    )
    if found.token and (found.client_id or found.client_secret):
        reader.problems.add(reader.at("token"), "beside a client", "keep one of them")
    elif bool(found.client_id) != bool(found.client_secret):
        missing = "clientSecret" if found.client_id else "clientId"
        if not reader.has(missing):
            reader.problems.add(reader.at(missing), "missing", "a client has an id and a secret")
    return found


def _environment(reader: Reader) -> OcmEnvironment:
    plain = reader.flag("plainHttp")
    environment = OcmEnvironment(
        name=_name(reader, "name"),
        url=_address(reader, "url", plain=plain),
        token_url=_address(reader, "tokenUrl", plain=plain),
        credentials=read_credentials(reader),
        severity=reader.choice("severity", Severity, Severity.CRITICAL).value,
        prometheus=_filled(reader, "prometheus"),
        # Nothing secret is sent there.
        soak_url=_address(reader, "soakUrl", plain=True),
        addons=_which_addons(reader),
    )
    if not reader.has("url"):
        reader.problems.add(reader.at("url"), "missing", "write https://api.openshift.com")
    if environment.credentials.client_secret and not reader.has("tokenUrl"):
        _needs_token_url(reader.path, "", reader.problems)
    reader.close()
    return environment


def _organization(reader: Reader) -> Registration:
    ident = _name(reader, "id")
    if not reader.has("environment"):
        reader.problems.add(reader.at("environment"), "missing", "name one of environments")
    credentials = None
    if reader.has("credentials"):
        own = reader.child("credentials")
        credentials = read_credentials(own)
        own.close()
    organization = Registration(
        id=ident,
        name=_filled(reader, "name") or ident,
        environment=reader.text("environment") or "",
        rules=reader.choice("mode", RuleSet, RuleSet.STRICT),
        health_checks=tuple(map(_health_check, reader.children("healthChecks"))),
        disabled=_disabled(reader),
        addons=reader.flag("addons"),
        quarantine_after=reader.whole("quarantineAfter") or 0,
        credentials=credentials,
        notice=reader.flag("notice"),
    )
    reader.close()
    return organization


def _health_check(reader: Reader) -> HealthCheck:
    provider = reader.text("provider")
    if provider != TELEMETER:
        wrong = "missing" if provider is None else f"no provider {shown(provider)}"
        hint = nearest_or_all(provider or "", [TELEMETER])
        reader.problems.add(reader.at("provider"), wrong, hint)
    check = HealthCheck(provider or "", reader.flag("enforced"))
    reader.close()
    return check


def _disabled(reader: Reader) -> tuple[str, ...]:
    """Services that leave an organisation alone; `true`: all of them."""
    if isinstance(all_of_them := reader.raw("disabled"), bool):
        return SERVICES if all_of_them else ()
    found = reader.texts("disabled")
    for i, each in enumerate(found):
        if each not in SERVICES:
            hint = nearest_or_all(each, SERVICES)
            reader.problems.add(f"{reader.at('disabled')}[{i}]", f"no service {shown(each)}", hint)
    return tuple(found)


def _which_addons(reader: Reader) -> int:
    found = reader.whole("addons")
    if found is not None and found not in _ADDONS:
        reader.problems.add(reader.at("addons"), f"{found} is neither of its services", "1 or 2")
    return found or _ADDONS[-1]


def _name(reader: Reader, field: str) -> str:
    """A name that can be part of another."""
    found = reader.text(field)
    if found is None and not reader.has(field):
        reader.problems.add(reader.at(field), "missing", f"write its {field}")
    elif found is not None and not _NAME.fullmatch(found):
        reader.problems.add(reader.at(field), f"{shown(found)} is no name", _NAME_REMEDY)
    return found or ""


def _filled(reader: Reader, field: str) -> str:
    """A text; an empty one is a mistake, and none is an empty one."""
    found = reader.text(field)
    if found == "":
        reader.problems.add(reader.at(field), "an empty text", "leave it out, or write a value")
    return found or ""


def _secret(reader: Reader, field: str) -> str:
    """Where a secret is; one that is written itself is not repeated."""
    found = _filled(reader, field)
    place, colon, name = found.partition(":")
    if place in ("env", "file") and colon and not name:
        reader.problems.add(reader.at(field), f"{place}: of nothing", _REFERENCE_REMEDY)
    elif found and not (colon and place in ("env", "file")):
        reader.problems.warn(reader.at(field), "a secret that all can read", _REFERENCE_REMEDY)
    return found


def _address(reader: Reader, field: str, *, plain: bool) -> str:
    """An address; over plain HTTP only on this machine, unless that is allowed explicitly."""
    found = reader.text(field)
    if found is None:
        return ""
    if wrong := url_trouble(found):
        reader.problems.add(reader.at(field), wrong, "write https://…, without credentials")
        return ""
    if not plain and is_exposed(found):
        wrong = f"{shown(found)} would carry secrets over plain HTTP"
        remedy = "write https://…, or plainHttp: true if the way there is safe"
        reader.problems.add(reader.at(field), wrong, remedy)
    return found.rstrip("/")


def is_exposed(url: str) -> bool:
    """Whether what is sent to an address can be read on the way."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")


def _needs_token_url(path: str, token_url: str, problems: Problems) -> None:
    if not token_url:
        where = f"{path}.tokenUrl" if path.startswith("environments") else path
        remedy = "write tokenUrl in the environment"
        problems.add(where, "a client needs an address where it gets tokens", remedy)


def _of_somebody(field: str, patterns: Iterable[str], ids: list[str], problems: Problems) -> None:
    """A pattern that matches no organisation is probably misspelt, and harmless."""
    for i, each in enumerate(patterns):
        if each != "*" and not any(is_like(ident, each) for ident in ids):
            wrong = f"{shown(each)} is no organisation"
            problems.warn(f"{field}[{i}]", wrong, nearest_or_all(each, ids))


def _no_twins(field: str, names: Iterable[str], problems: Problems) -> None:
    seen: dict[str, int] = {}
    for i, name in enumerate(names):
        if name and name in seen:
            first = f"{field}[{seen[name]}]"
            problems.add(f"{field}[{i}]", f"{shown(name)} stands at {first} too", "keep one")
        seen.setdefault(name, i)
