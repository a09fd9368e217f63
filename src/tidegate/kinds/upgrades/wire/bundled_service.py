"""A document of who is served, completed by what a bundle declares.

    bundle: app-interface
    environments:
      - {name: prod, clientSecret: env:OCM_SECRET}

The document takes precedence over the bundle, which completes it: an organisation by the same
name, and all others. Secrets are what a bundle never has: it says only who keeps them.
"""

from collections.abc import Mapping
from typing import Any

from tidegate.kinds.upgrades.core.labels.bundled import Bundled, BundledEnvironment, BundledOrg
from tidegate.kinds.upgrades.core.service import UpgradeService
from tidegate.kinds.upgrades.wire.service_doc import SERVICES
from tidegate.model.problem import Problems, shown

Entry = dict[str, Any]


def with_bundle(document: Mapping[str, Any], bundled: Bundled, problems: Problems) -> Entry:
    """The document, its own entries first and where they stand, each with all that is known."""
    environments, found = _entries(document, "environments"), list(bundled.environments)
    for entry in environments:
        for each in [one for one in found if one.name == entry.get("name")]:
            found.remove(each)
            _complete(entry, _environment(each, entry))
    organizations, others = _entries(document, "organizations"), list(bundled.organizations)
    for entry in organizations:
        for org in [one for one in others if _is(one, entry)]:
            others.remove(org)
            _complete(entry, _organization(org))
            _tell_own(org, entry, problems)
    for org in others:
        if not org.environment:
            wrong = f"{org.where}: {org.name} names no environment"
            problems.warn("organizations", wrong, "it is not served")
        else:
            organizations.append(_organization(org))
            _tell_own(org, {}, problems)
    environments += (_environment(each, {}) for each in found)
    return {**document, "environments": environments, "organizations": organizations}


def check_secrets(service: UpgradeService, bundled: Bundled, problems: Problems) -> None:
    """Environments of the bundle without an address, though an organisation there is served."""
    known = {each.name: each for each in bundled.environments}
    for i, environment in enumerate(service.environments):
        own = environment.credentials
        needed = any(
            each.environment == environment.name and each.credentials is None
            for each in service.served()
        )
        if needed and environment.name in known and not (own.client_secret or own.token):
            where = known[environment.name].where
            wrong = f"{shown(environment.name)} ({where}) keeps its secret elsewhere"
            remedy = f"write {{name: {environment.name}, clientSecret: env:NAME}}"
            problems.add(f"environments[{i}]", wrong, remedy)


def _tell_own(org: BundledOrg, entry: Entry, problems: Problems) -> None:
    if org.client_id and "credentials" not in entry:
        wrong = f"{org.where}: {org.name} has a service account of its own"
        remedy = f"write {{id: {org.id}, credentials: …}}; its environment's is used"
        problems.warn("organizations", wrong, remedy)


def _environment(each: BundledEnvironment, entry: Entry) -> Entry:
    found = {"name": each.name, "url": each.url}
    found |= {"tokenUrl": each.token_url} if each.token_url else {}
    found |= {"prometheus": each.prometheus} if each.prometheus else {}
    # With a secret of its own it may still have the client id of the bundle.
    found |= {"clientId": each.client_id} if each.client_id and "clientSecret" in entry else {}
    return found


def _organization(org: BundledOrg) -> Entry:
    return {
        "id": org.id,
        "name": org.name,
        "environment": org.environment,
        "addons": org.addons,
        "disabled": [each for each in org.disabled if each in SERVICES],
        "healthChecks": [
            {"provider": provider, "enforced": enforced} for provider, enforced in org.health_checks
        ],
    }


def _is(org: BundledOrg, entry: Entry) -> bool:
    """Whether an entry means an organisation: by its id, or by its name if it has no id."""
    return entry["id"] == org.id if "id" in entry else entry.get("name") == org.name


def _complete(entry: Entry, more: Entry) -> None:
    for name, value in more.items():
        entry.setdefault(name, value)


def _entries(document: Mapping[str, Any], name: str) -> list[Entry]:
    """The entries of a list; one that is none is left for the reader to complain about."""
    found = document.get(name)
    return [dict(each) if isinstance(each, Mapping) else each for each in found or ()]
