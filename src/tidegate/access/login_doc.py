"""How callers of a service log in beside its own tokens: an issuer, a Kubernetes cluster.

oidc:
  issuer: https://dex.example/dex
  url: https://tidegate.example           # where browsers find this service
  clientId: tidegate
  clientSecret: env:TIDEGATE_OIDC_SECRET
  commandLineClientId: tidegate-cli
kubernetes:
  context: in-cluster
  audience: tidegate
"""

import msgspec

from tidegate.documents.reader import Reader
from tidegate.model.problem import nearest, shown
from tidegate.model.time import SECOND, Duration
from tidegate.net.address import is_safe
from tidegate.oidc.identity import ALGORITHMS, IssuerSettings

# How long a session of a browser lasts, and the most that can be asked for.
SESSION = Duration(12 * 3600 * SECOND)
SESSION_MAX = Duration(7 * 24 * 3600 * SECOND)
SKEW_MAX = Duration(5 * 60 * SECOND)


class OidcLogin(msgspec.Struct, frozen=True, kw_only=True):
    """Logins by an issuer."""

    settings: IssuerSettings
    # Where browsers find the service; empty: there is no login by browser.
    url: str = ""
    # Where the secret of the client is: env:NAME or file:PATH.
    secret_place: str = ""
    session: Duration = SESSION


class KubernetesLogin(msgspec.Struct, frozen=True, kw_only=True):
    """Logins by service accounts of a cluster."""

    # A context of a kubeconfig, or in-cluster; empty: the current one.
    context: str = ""
    kubeconfig: str = ""
    # What the tokens must be made for.
    audience: str = "tidegate"


def read_oidc(reader: Reader) -> OidcLogin:
    """The part `oidc` of a policy file."""
    issuer, url = reader.text("issuer") or "", reader.text("url") or ""
    _check_address(reader, "issuer", issuer)
    if url:
        _check_address(reader, "url", url)
    client = reader.text("clientId") or ""
    if not client:
        reader.problems.add(reader.at("clientId"), "missing", "write what the issuer calls us")
    secret = reader.text("clientSecret") or ""
    if secret and not secret.startswith(("env:", "file:")):
        what, remedy = "a secret does not belong here", "write env:NAME or file:PATH"
        reader.problems.add(reader.at("clientSecret"), what, remedy)
    given = {
        "command_line_client_id": reader.text("commandLineClientId"),
        "audiences": tuple(reader.texts("audiences")),
        "username_claim": reader.text("usernameClaim"),
        "groups_claim": reader.text("groupsClaim"),
        "scopes": _scopes(reader),
        "algorithms": _algorithms(reader),
        "clock_skew": _limited(reader, "clockSkew", Duration(0), SKEW_MAX),
        "certificate_authority": reader.text("certificateAuthority"),
    }
    session = _limited(reader, "session", Duration(60 * SECOND), SESSION_MAX)
    reader.close()
    settings = msgspec.structs.replace(
        IssuerSettings(issuer=issuer, client_id=client),
        # What is not written is as documented; a skew of 0s is written.
        **{name: value for name, value in given.items() if value not in (None, "", ())},
    )
    return OidcLogin(
        settings=settings, url=url.rstrip("/"), secret_place=secret, session=session or SESSION
    )


def read_kubernetes(reader: Reader) -> KubernetesLogin:
    """The part `kubernetes` of a policy file."""
    audience = reader.text("audience") if reader.has("audience") else "tidegate"
    if not audience:
        what, remedy = "is empty", "write what tokens must be made for, like tidegate"
        reader.problems.add(reader.at("audience"), what, remedy)
    found = KubernetesLogin(
        context=reader.text("context") or "",
        kubeconfig=reader.text("kubeconfig") or "",
        audience=audience or "",
    )
    reader.close()
    return found


def _check_address(reader: Reader, name: str, address: str) -> None:
    if not is_safe(address) or any(each in address for each in "?#"):
        what = f"{shown(address)} is no https address" if address else "missing"
        reader.problems.add(reader.at(name), what, "write https://HOST; http is for this machine")


def _scopes(reader: Reader) -> tuple[str, ...]:
    found = tuple(reader.texts("scopes"))
    if found and "openid" not in found:
        reader.problems.add(reader.at("scopes"), "openid is not in it", "add it")
    return found


def _algorithms(reader: Reader) -> tuple[str, ...]:
    found = tuple(reader.texts("algorithms"))
    for each in found:
        if each not in ALGORITHMS:
            remedy = nearest(each, ALGORITHMS) or f"write some of {', '.join(ALGORITHMS)}"
            reader.problems.add(reader.at("algorithms"), f"{shown(each)} is not safe here", remedy)
    return found


def _limited(reader: Reader, name: str, least: Duration, most: Duration) -> Duration | None:
    found = reader.duration(name)
    if found is not None and not least <= found <= most:
        span = f"between {least // SECOND} and {most // SECOND} seconds"
        reader.problems.add(reader.at(name), f"is not {span}", "write another")
    return found
