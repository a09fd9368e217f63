"""Workloads: what Kubernetes is asked to run for a shard, as plain data.

A Deployment, or a StatefulSet where the integration keeps a cache, or a CronJob where it has a
schedule; and one Service a namespace. What is said twice is settled here: an override, then the
integration's own spec, then the environment's parameters, then the defaults.

Sidecars and other specifics of a site are not ours: a site lays them over (`overlay.py`).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.core.integrations.images import settled
from tidegate.core.integrations.model import Managed, Shard

Manifest = dict[str, Any]

APP = "qontract-reconcile"
SHARD_LABEL, KEY_LABEL = "tidegate.dev/shard", "tidegate.dev/shard-key"
PORT = 9090
# What a parameter is where neither the environment nor the process says otherwise.
DEFAULTS: Mapping[str, str] = {
    "IMAGE": "quay.io/app-sre/qontract-reconcile",
    "IMAGE_TAG": "latest",
    "IMAGE_DIGEST": "",
    "ENVIRONMENT_NAME": "app-interface",
    "DRY_RUN": "--dry-run",
    "MANAGER_DRY_RUN": "--dry-run",
    "SLEEP_DURATION_SECS": "300",
    "QONTRACT_RECONCILE_TOML_SECRET_NAME": "qontract-reconcile-toml",
    "APP_INTERFACE_STATE_BUCKET_ACCOUNT": "app-sre",
    "AWS_CONFIG_SECRET_NAME": "app-interface-aws-config",
    "KUBE_SA_TOKEN_MOUNT_PATH": "/var/run/secrets/kubernetes.io/serviceaccount",
    "KUBE_SA_TOKEN_FILENAME": "token",
    "LOG_FILE": "/fluentd/log/integration.log",
    "SLOW_OC_RECONCILE_THRESHOLD": "600",
    "LOG_SLOW_OC_RECONCILE": "false",
    "USE_NATIVE_CLIENT": "",
    "USED_FOR_SECURITY": "",
    "INTEGRATIONS_MANAGER_UPSTREAM": "",
    "INTEGRATIONS_MANAGER_IMAGE": "",
    "INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF": "",
    "PUSHGATEWAY_SECRET_NAME": "push-gateway-auth-url",
}
_MANAGER = "integrations-manager"
_QUIET = "ignore-check.kube-linter.io/"
_CRON_ANNOTATIONS = {f"{_QUIET}unset-cpu-requirements": "no cpu limits"}
_ANNOTATIONS = _CRON_ANNOTATIONS | {
    f"{_QUIET}minimum-three-replicas": f"{APP} integrations are sharded and not replicated",
    f"{_QUIET}no-readiness-probe": f"{APP} integrations are not getting traffic",
    f"{_QUIET}no-liveness-probe": f"{APP} integrations are monitored for being stuck",
}


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What workloads of one namespace are rendered with."""

    parameters: Mapping[str, str]
    # Taken over from the existing manager as it runs: its pods are left as they are.
    adopted: bool = False
    # By image as it is written without one; what is not in it stays a tag.
    digests: Mapping[str, str] = {}


def ground_of(
    managed: Managed, given: Mapping[str, str] | None = None, *, adopted: bool = False
) -> Ground:
    """The parameters of a namespace: defaults, its environment's, then those given by hand."""
    own = {name: str(value) for name, value in managed.namespace.parameters.items()}
    # The repository of the image is never the environment's to say.
    own.pop("IMAGE", None)
    return Ground(parameters={**DEFAULTS, **own, **(given or {})}, adopted=adopted)


def render(shard: Shard, managed: Managed, ground: Ground, image: str | None = None) -> Manifest:
    """The workload of one shard, with the image it wants or the one it is given."""
    image = image or image_of(shard, managed, ground)
    if managed.spec.get("cron"):
        return _cron_job(shard, managed, ground, image)
    return _server(shard, managed, ground, image)


def service() -> Manifest:
    """The one way to the metrics of everything in a namespace."""
    port = {"name": "http", "port": 80, "protocol": "TCP", "targetPort": PORT}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": APP, "labels": {"app": APP}},
        "spec": {"ports": [port], "selector": {"component": APP}},
    }


def image_of(shard: Shard, managed: Managed, ground: Ground) -> str:
    """The image a shard wants; a tag chosen by hand never keeps another image's digest."""
    return settled(image_as_written(shard, managed, ground), ground.digests)


def image_as_written(shard: Shard, managed: Managed, ground: Ground) -> str:
    """The same before any registry was asked."""
    repository = ground.parameters["IMAGE"]
    chosen = shard.override.image_ref if shard.override is not None else None
    chosen = chosen or managed.spec.get("imageRef")
    if chosen:
        joint = "@" if str(chosen).startswith("sha256:") else ":"
        return f"{repository}{joint}{chosen}"
    digest = ground.parameters["IMAGE_DIGEST"]
    tagged = f"{repository}:{ground.parameters['IMAGE_TAG']}"
    return f"{tagged}@{digest}" if digest else tagged


def resources_of(shard: Shard, managed: Managed, ground: Ground) -> dict[str, dict[str, str]]:
    """What a shard may use: its override, or the spec with what the environment puts in."""
    if shard.override is not None and shard.override.resources is not None:
        return _texts(shard.override.resources)
    name = shard.integration.upper().replace("-", "_")
    found = _texts(managed.spec["resources"])
    for part, noun in (("limits", "LIMIT"), ("requests", "REQUEST")):
        for amount in found.get(part, {}):
            known = ground.parameters.get(f"{name}_{amount.upper()}_{noun}")
            if known is not None:
                found[part][amount] = known
    return found


def _texts(resources: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        part: {amount: str(value) for amount, value in amounts.items() if value is not None}
        for part, amounts in resources.items()
        if amounts
    }


def _server(shard: Shard, managed: Managed, ground: Ground, image: str) -> Manifest:
    spec, labels = managed.spec, _labels(shard)
    keeps = bool(spec.get("cache"))
    stops = shard.override is not None and shard.override.disabled
    app = {"app": f"{APP}-{shard.integration}"}
    pod = {
        "metadata": {"labels": app | {"component": APP} | ({} if ground.adopted else labels)},
        "spec": {
            "serviceAccountName": APP,
            "containers": [
                {
                    "name": "int",
                    "image": image,
                    "ports": [{"name": "http", "containerPort": PORT}],
                    "env": _env(shard, managed, ground),
                    "resources": resources_of(shard, managed, ground),
                    "volumeMounts": _mounts(spec, ground.parameters),
                }
            ],
            "volumes": _volumes(spec, ground.parameters),
        },
    }
    body: Manifest = {
        "replicas": 0 if stops else 1,
        "revisionHistoryLimit": 5,
        # Selectors cannot be changed: they stay what they always were.
        "selector": {"matchLabels": app},
        "template": pod,
    }
    if keeps:
        body["volumeClaimTemplates"] = [_claim(spec)]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet" if keeps else "Deployment",
        "metadata": {
            "name": shard.workload,
            "labels": app | ({} if ground.adopted else labels),
            "annotations": dict(_ANNOTATIONS),
        },
        "spec": body,
    }


def _labels(shard: Shard) -> dict[str, str]:
    """What tells the pods of one shard from all others."""
    labels = {SHARD_LABEL: shard.workload}
    # A label takes 63 characters at most, and not all of them.
    if shard.key and len(shard.key) <= 63 and shard.key.replace("-", "").isalnum():
        labels[KEY_LABEL] = shard.key
    return labels


def _claim(spec: Mapping[str, Any]) -> Manifest:
    return {
        "metadata": {"name": "cache"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": spec.get("storageClassName") or "gp2",
            "resources": {"requests": {"storage": spec.get("storage") or "1Gi"}},
        },
    }


def _plain(name: str, value: object) -> Manifest:
    return {"name": name, "value": str(value)}


def _secret(name: str, secret: str, key: str, *, optional: bool = False) -> Manifest:
    ref: Manifest = {"name": secret, "key": key}
    if optional:
        ref["optional"] = True
    return {"name": name, "valueFrom": {"secretKeyRef": ref}}


def _config(name: str) -> Manifest:
    ref = {"name": "app-interface", "key": name}
    return {"name": name, "valueFrom": {"configMapKeyRef": ref}}


def _arguments(shard: Shard, managed: Managed, ground: Ground) -> list[Manifest]:
    """What the integration is told; adopted ones keep every blank, or they would restart."""
    text = shard.arguments
    if ground.adopted and shard.key:
        own = str(managed.spec.get("extraArgs") or "")
        text = f"{own} {text.removeprefix(own.strip()).strip()}"
    return [_plain("INTEGRATION_EXTRA_ARGS", text)] if text else []


def _env(shard: Shard, managed: Managed, ground: Ground) -> list[Manifest]:
    spec, known = managed.spec, ground.parameters
    env: list[Manifest] = []
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
    env += _arguments(shard, managed, ground)
    sleep = spec.get("sleepDurationSecs") or known["SLEEP_DURATION_SECS"]
    env += [_plain("SLEEP_DURATION_SECS", sleep), _config("GITHUB_API"), _config("SENTRY_DSN")]
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


def _state(known: Mapping[str, str]) -> list[Manifest]:
    prefix, secret = "APP_INTERFACE_STATE", "app-interface"
    return [
        _secret(f"{prefix}_BUCKET", secret, "aws.s3.bucket"),
        _plain(f"{prefix}_BUCKET_ACCOUNT", known[f"{prefix}_BUCKET_ACCOUNT"]),
        _secret(f"{prefix}_BUCKET_REGION", secret, "aws.region", optional=True),
        _plain("AWS_CONFIG_FILE", "/aws/config"),
        _secret(f"{prefix}_AWS_PROFILE", secret, "aws.profile.state", optional=True),
    ]


def _unleash() -> list[Manifest]:
    return [
        _secret("UNLEASH_API_URL", "unleash", "API_URL", optional=True),
        _secret("UNLEASH_CLIENT_ACCESS_TOKEN", "unleash", "CLIENT_ACCESS_TOKEN", optional=True),
    ]


def _token_path(known: Mapping[str, str]) -> Manifest:
    path = f"{known['KUBE_SA_TOKEN_MOUNT_PATH']}/{known['KUBE_SA_TOKEN_FILENAME']}"
    return _plain("KUBE_SA_TOKEN_PATH", path)


def _extra(spec: Mapping[str, Any]) -> list[Manifest]:
    """Variables of the integration's own; a secret's key is the variable's name."""
    found: list[Manifest] = []
    for each in spec.get("extraEnv") or ():
        if each.get("secretName"):
            found.append(_secret(each["secretKey"], each["secretName"], each["secretKey"]))
        else:
            found.append(_plain(each["name"], each["value"]))
    return found


def _mounts(spec: Mapping[str, Any], known: Mapping[str, str]) -> list[Manifest]:
    mounts: list[Manifest] = [
        {"name": "tmp-dir", "mountPath": "/tmp"},
        {"name": "qontract-reconcile-toml", "mountPath": "/config"},
    ]
    if spec.get("cache"):
        mounts.append({"name": "cache", "mountPath": "/.cache"})
    mounts.append({"name": "logs", "mountPath": "/fluentd/log/"})
    mounts.append(_token_mount(known))
    if spec.get("state"):
        bound = "/var/run/secrets/openshift/serviceaccount"
        mounts.append({"name": "aws-config", "mountPath": "/aws"})
        mounts.append({"name": _BOUND, "mountPath": bound, "readOnly": True})
    return mounts


_TOKEN, _BOUND = "qontract-reconcile-sa-token", "bound-qontract-reconcile-sa-token"


def _token_mount(known: Mapping[str, str]) -> Manifest:
    return {"name": _TOKEN, "mountPath": known["KUBE_SA_TOKEN_MOUNT_PATH"]}


def _token_volume(known: Mapping[str, str]) -> Manifest:
    token = {"path": known["KUBE_SA_TOKEN_FILENAME"], "expirationSeconds": 1800}
    return {"name": _TOKEN, "projected": {"sources": [{"serviceAccountToken": token}]}}


def _toml_volume(known: Mapping[str, str]) -> Manifest:
    secret = {"secretName": known["QONTRACT_RECONCILE_TOML_SECRET_NAME"]}
    return {"name": "qontract-reconcile-toml", "secret": secret}


def _volumes(spec: Mapping[str, Any], known: Mapping[str, str]) -> list[Manifest]:
    volumes = [_token_volume(known)]
    if spec.get("state"):
        token = {"path": "token", "expirationSeconds": 1800, "audience": "openshift"}
        sources = [{"serviceAccountToken": token}]
        volumes.append({"name": _BOUND, "projected": {"defaultMode": 420, "sources": sources}})
        secret = {"secretName": known["AWS_CONFIG_SECRET_NAME"], "optional": True}
        volumes.append({"name": "aws-config", "secret": secret})
    volumes.append(_toml_volume(known))
    return volumes + [{"name": name, "emptyDir": {}} for name in ("logs", "tmp-dir")]


def _cron_job(shard: Shard, managed: Managed, ground: Ground, image: str) -> Manifest:
    spec, known = managed.spec, ground.parameters
    env = [_plain("RUN_ONCE", "true")]
    if not ground.adopted:
        if shard.index is not None and (shard.count or 1) > 1:
            env += [_plain("SHARDS", shard.count), _plain("SHARD_ID", shard.index)]
        env += [_plain("SHARD_KEY", shard.key)] if shard.key else []
    env.append(_plain("DRY_RUN", known["DRY_RUN"]))
    env += [_plain("COMMAND_NAME", spec["command"])] if spec.get("command") else []
    env.append(_plain("INTEGRATION_NAME", shard.integration))
    env += _arguments(shard, managed, ground)
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
    pod = {
        "serviceAccountName": APP,
        "restartPolicy": spec.get("restartPolicy") or "OnFailure",
        "containers": [
            {
                "name": "int",
                "image": image,
                "env": env,
                "resources": resources_of(shard, managed, ground),
                "volumeMounts": [
                    {"name": "qontract-reconcile-toml", "mountPath": "/config"},
                    _token_mount(known),
                ],
            }
        ],
        "volumes": [_toml_volume(known), _token_volume(known)],
    }
    labels = {} if ground.adopted else _labels(shard)
    template = {"spec": pod} | ({"metadata": {"labels": labels}} if labels else {})
    stops = shard.override is not None and shard.override.disabled
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {
            "name": shard.workload,
            "labels": {"app": f"{APP}-{shard.integration}"} | labels,
            "annotations": dict(_CRON_ANNOTATIONS),
        },
        "spec": {
            "schedule": spec["cron"],
            "concurrencyPolicy": spec.get("concurrencyPolicy") or "Allow",
            "successfulJobsHistoryLimit": _or(spec.get("successfulJobHistoryLimit"), 3),
            "failedJobsHistoryLimit": _or(spec.get("failedJobHistoryLimit"), 1),
            "jobTemplate": {"spec": {"template": template}},
        }
        | ({"suspend": True} if stops else {}),
    }


def _or(value: int | None, otherwise: int) -> int:
    """0 is an answer."""
    return otherwise if value is None else value
