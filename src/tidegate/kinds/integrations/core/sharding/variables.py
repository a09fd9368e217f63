"""The variables of a workload; their order is part of what runs.

Adopted workloads get exactly those of the existing manager, or their pods would restart.
"""

from collections.abc import Mapping
from typing import Any

from tidegate.kinds.integrations.core.sharding.model import WorkloadShard

Spec = Mapping[str, Any]
Known = Mapping[str, str]
Variable = dict[str, Any]

_MANAGER, _SLEEP = "integrations-manager", "SLEEP_DURATION_SECS"


def _plain(name: str, value: object) -> Variable:
    return {"name": name, "value": str(value)}


def _secret(name: str, secret: str, key: str, *, optional: bool = False) -> Variable:
    ref: Variable = {"name": secret, "key": key}
    if optional:
        ref["optional"] = True
    return {"name": name, "valueFrom": {"secretKeyRef": ref}}


def _config(name: str) -> Variable:
    ref = {"name": "app-interface", "key": name}
    return {"name": name, "valueFrom": {"configMapKeyRef": ref}}


def _arguments(shard: WorkloadShard, spec: Spec, *, adopted: bool) -> list[Variable]:
    """The variables of the integration; adopted ones keep every blank, or they would restart."""
    text = shard.arguments
    if adopted and shard.key:
        own = str(spec.get("extraArgs") or "")
        text = f"{own} {text.removeprefix(own.strip()).strip()}"
    return [_plain("INTEGRATION_EXTRA_ARGS", text)] if text else []


def server_variables(
    shard: WorkloadShard, spec: Spec, known: Known, *, adopted: bool
) -> list[Variable]:
    """The variables of a shard that runs all the time."""
    env: list[Variable] = []
    if (spec.get("logs") or {}).get("googleChat"):
        env.append(_plain("PREFIX_LOG_LEVEL", "true"))
    if shard.index is not None:
        env += [_plain("SHARDS", shard.count), _plain("SHARD_ID", shard.index)]
    if shard.key:
        env.append(_plain("SHARD_KEY", shard.key))
    env.append(_plain("DRY_RUN", known["DRY_RUN"]))
    if spec.get("command"):
        env.append(_plain("COMMAND_NAME", spec["command"]))
    if shard.integration == _MANAGER:
        names = ("UPSTREAM", "IMAGE", "IMAGE_TAG_FROM_REF")
        every = ("MANAGER_DRY_RUN", *(f"INTEGRATIONS_MANAGER_{name}" for name in names))
        env += [_plain(name, known[name]) for name in every]
    env.append(_plain("INTEGRATION_NAME", shard.integration))
    env += _arguments(shard, spec, adopted=adopted)
    env.append(_plain(_SLEEP, _sleep(shard, spec, known)))
    env += [_config("GITHUB_API"), _config("SENTRY_DSN")]
    env.append(_plain("LOG_FILE", known["LOG_FILE"]))
    env += _state(known) if spec.get("state") else []
    env += [] if spec.get("disableUnleash") else _unleash()
    for name in ("SLOW_OC_RECONCILE_THRESHOLD", "LOG_SLOW_OC_RECONCILE", "USE_NATIVE_CLIENT"):
        env.append(_plain(name, known[name]))
    env += [_token_path(known), _plain("USED_FOR_SECURITY", known["USED_FOR_SECURITY"])]
    if spec.get("environmentAware"):
        aware = ("ENVIRONMENT_NAME", "IMAGE", "IMAGE_TAG", "IMAGE_DIGEST")
        env += [_plain(name, known[name]) for name in aware]
    return env + _extra(spec)


def _sleep(shard: WorkloadShard, spec: Spec, known: Known) -> str:
    """How long a run rests; the environment may say otherwise than a spec, by integration."""
    own = spec.get("sleepDurationSecs")
    if not own:
        return known[_SLEEP]
    return known.get(f"{shard.integration.upper().replace('-', '_')}_{_SLEEP}", str(own))


def _state(known: Known) -> list[Variable]:
    prefix, secret = "APP_INTERFACE_STATE", "app-interface"
    return [
        _secret(f"{prefix}_BUCKET", secret, "aws.s3.bucket"),
        _plain(f"{prefix}_BUCKET_ACCOUNT", known[f"{prefix}_BUCKET_ACCOUNT"]),
        _secret(f"{prefix}_BUCKET_REGION", secret, "aws.region", optional=True),
        _plain("AWS_CONFIG_FILE", "/aws/config"),
        _secret(f"{prefix}_AWS_PROFILE", secret, "aws.profile.state", optional=True),
    ]


def _unleash() -> list[Variable]:
    return [
        _secret("UNLEASH_API_URL", "unleash", "API_URL", optional=True),
        _secret("UNLEASH_CLIENT_ACCESS_TOKEN", "unleash", "CLIENT_ACCESS_TOKEN", optional=True),
    ]


def _token_path(known: Known) -> Variable:
    path = f"{known['KUBE_SA_TOKEN_MOUNT_PATH']}/{known['KUBE_SA_TOKEN_FILENAME']}"
    return _plain("KUBE_SA_TOKEN_PATH", path)


def _extra(spec: Spec) -> list[Variable]:
    """Variables of the integration's own; a secret's key is the variable's name."""
    found: list[Variable] = []
    for each in spec.get("extraEnv") or ():
        if each.get("secretName"):
            found.append(_secret(each["secretKey"], each["secretName"], each["secretKey"]))
        else:
            found.append(_plain(each["name"], each["value"]))
    return found


def job_variables(
    shard: WorkloadShard, spec: Spec, known: Known, *, adopted: bool
) -> list[Variable]:
    """The variables of a scheduled run."""
    env = [_plain("RUN_ONCE", "true")]
    if not adopted:
        if shard.index is not None and (shard.count or 1) > 1:
            env += [_plain("SHARDS", shard.count), _plain("SHARD_ID", shard.index)]
        env += [_plain("SHARD_KEY", shard.key)] if shard.key else []
    env.append(_plain("DRY_RUN", known["DRY_RUN"]))
    env += [_plain("COMMAND_NAME", spec["command"])] if spec.get("command") else []
    env.append(_plain("INTEGRATION_NAME", shard.integration))
    env += _arguments(shard, spec, adopted=adopted)
    env.append(_config("GITHUB_API"))
    env += [] if spec.get("disableUnleash") else _unleash()
    env += _extra(spec)
    if spec.get("dashdotdb"):
        env.append(_secret("DASHDOTDB_SECRET", "dashdotdb", "AUTH_VAULT_PATH"))
    env.append(_token_path(known))
    if spec.get("enablePushgateway"):
        secret = known["PUSHGATEWAY_SECRET_NAME"]
        env.append(_plain("PUSHGATEWAY_ENABLED", "true"))
        for name, key in (("URL", "server"), ("USERNAME", "username"), ("PASSWORD", "password")):
            env.append(_secret(f"PUSHGATEWAY_{name}", secret, key))
    return env
