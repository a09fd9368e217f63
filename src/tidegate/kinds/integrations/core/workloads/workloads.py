"""Workloads: what Kubernetes is asked to run for a shard, as plain data.

A Deployment, or a StatefulSet where the integration keeps a cache, or a CronJob where it has a
schedule; and one Service a namespace. What is said twice is settled here: an override, then the
integration's own spec, then the environment's parameters, then the defaults.

Sidecars and other specifics of a site are not ours: a site lays them over (`overlay.py`).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.integrations.core.sharding.model import BranchHead, Managed, WorkloadShard
from tidegate.kinds.integrations.core.sharding.variables import job_variables, server_variables
from tidegate.kinds.integrations.core.workloads.default_image import default_tag
from tidegate.registry.image import settled

Manifest = dict[str, Any]

APP = "qontract-reconcile"
# The container that ships logs, where a site has one.
SHIPPER = "fluentd"
SHARD_LABEL, KEY_LABEL = "tidegate.dev/shard", "tidegate.dev/shard-key"
PORT = 9090
# What a parameter is where neither the environment nor the process says otherwise.
DEFAULTS: Mapping[str, str] = {
    "IMAGE": "quay.io/app-sre/qontract-reconcile",
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
    "INTERNAL_CERTIFICATES_IMAGE": "quay.io/app-sre/internal-redhat-ca",
    "INTERNAL_CERTIFICATES_IMAGE_TAG": "latest",
    "INTERNAL_CERTIFICATES_IMAGE_PULL_POLICY": "Always",
    "INTEGRATIONS_MANAGER_UPSTREAM": "",
    "INTEGRATIONS_MANAGER_IMAGE": "",
    "INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF": "",
    "PUSHGATEWAY_SECRET_NAME": "push-gateway-auth-url",
}
_QUIET = "ignore-check.kube-linter.io/"
_CRON_ANNOTATIONS = {f"{_QUIET}unset-cpu-requirements": "no cpu limits"}
_ANNOTATIONS = _CRON_ANNOTATIONS | {
    f"{_QUIET}minimum-three-replicas": f"{APP} integrations are sharded and not replicated",
    f"{_QUIET}no-readiness-probe": f"{APP} integrations are not getting traffic",
    f"{_QUIET}no-liveness-probe": f"{APP} integrations are monitored for being stuck",
}


class NamespaceDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """What workloads of one namespace are rendered with."""

    parameters: Mapping[str, str]
    # Taken over from the existing manager as it runs: its pods are left as they are.
    adopted: bool = False
    # By image as it is written without one; what is not in it stays a tag.
    digests: Mapping[str, str] = {}


def ground_of(
    managed: Managed,
    given: Mapping[str, str] | None = None,
    *,
    heads: Mapping[str, BranchHead] | None = None,
    adopted: bool = False,
) -> NamespaceDefaults:
    """The parameters of a namespace: defaults, its environment's, then those given by hand.

    `heads`: the newest commits of branches that default images follow, by `ImageBranch.key`.
    """
    own = {name: str(value) for name, value in managed.namespace.parameters.items()}
    # The repository of the image is never the environment's to say.
    own.pop("IMAGE", None)
    tag, _ = default_tag(managed.namespace, heads or {})
    tagged = {"IMAGE_TAG": tag} if tag else {}
    if not tag:
        own.pop("IMAGE_TAG", None)
    parameters = {**DEFAULTS, **own, **tagged, **(given or {})}
    return NamespaceDefaults(parameters=parameters, adopted=adopted)


def render(
    shard: WorkloadShard, managed: Managed, ground: NamespaceDefaults, image: str | None = None
) -> Manifest:
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


def has_image(managed: Managed, ground: NamespaceDefaults) -> bool:
    """Whether shards without an image of their own have one to run."""
    return bool(managed.spec.get("imageRef") or ground.parameters.get("IMAGE_TAG"))


def image_of(shard: WorkloadShard, managed: Managed, ground: NamespaceDefaults) -> str:
    """The image a shard wants; a tag chosen by hand never keeps another image's digest."""
    return settled(image_as_written(shard, managed, ground), ground.digests)


def image_as_written(shard: WorkloadShard, managed: Managed, ground: NamespaceDefaults) -> str:
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


def resources_of(
    shard: WorkloadShard, managed: Managed, ground: NamespaceDefaults
) -> dict[str, dict[str, str]]:
    """What a shard may use: its override, or the spec with what the environment puts in."""
    if shard.override is not None and shard.override.resources is not None:
        return _texts(shard.override.resources)
    prefix = shard.integration.upper().replace("-", "_")
    return _put_in(_texts(managed.spec["resources"]), prefix, ground)


def shipper_resources_of(
    shard: WorkloadShard, managed: Managed, ground: NamespaceDefaults
) -> dict[str, dict[str, str]] | None:
    """What the container that ships logs may use; None: what the site's overlay says."""
    if not managed.spec.get("fluentdResources"):
        return None
    prefix = shard.integration.upper().replace("-", "_")
    return _put_in(_texts(managed.spec["fluentdResources"]), f"{prefix}_FLUENTD", ground)


def _put_in(
    found: dict[str, dict[str, str]], prefix: str, ground: NamespaceDefaults
) -> dict[str, dict[str, str]]:
    for part, noun in (("limits", "LIMIT"), ("requests", "REQUEST")):
        for amount in found.get(part, {}):
            known = ground.parameters.get(f"{prefix}_{amount.upper()}_{noun}")
            if known is not None:
                found[part][amount] = known
    return found


def _texts(resources: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        part: {amount: str(value) for amount, value in amounts.items() if value is not None}
        for part, amounts in resources.items()
        if amounts
    }


def _server(
    shard: WorkloadShard, managed: Managed, ground: NamespaceDefaults, image: str
) -> Manifest:
    spec, labels = managed.spec, _labels(shard)
    keeps = bool(spec.get("cache"))
    stops = shard.override is not None and shard.override.disabled
    app = {"app": f"{APP}-{shard.integration}"}
    pod: Manifest = {
        "metadata": {"labels": app | {"component": APP} | ({} if ground.adopted else labels)},
        "spec": {
            "serviceAccountName": APP,
            "containers": [
                {
                    "name": "int",
                    "image": image,
                    "ports": [{"name": "http", "containerPort": PORT}],
                    "env": server_variables(shard, spec, ground.parameters, adopted=ground.adopted),
                    "resources": resources_of(shard, managed, ground),
                    "volumeMounts": _mounts(spec, ground.parameters),
                }
            ],
            "volumes": _volumes(spec, ground.parameters),
        },
    }
    if spec.get("internalCertificates"):
        pod["spec"]["initContainers"] = [_certificates(ground.parameters)]
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


def _labels(shard: WorkloadShard) -> dict[str, str]:
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


def _mounts(spec: Mapping[str, Any], known: Mapping[str, str]) -> list[Manifest]:
    mounts: list[Manifest] = [
        {"name": "tmp-dir", "mountPath": "/tmp"},
        {"name": "qontract-reconcile-toml", "mountPath": "/config"},
    ]
    if spec.get("cache"):
        mounts.append({"name": "cache", "mountPath": "/.cache"})
    if spec.get("internalCertificates"):
        mounts.append({"name": _CERTIFICATES, "mountPath": "/etc/pki/"})
    mounts.append({"name": "logs", "mountPath": "/fluentd/log/"})
    mounts.append(_token_mount(known))
    if spec.get("state"):
        bound = "/var/run/secrets/openshift/serviceaccount"
        mounts.append({"name": "aws-config", "mountPath": "/aws"})
        mounts.append({"name": _BOUND, "mountPath": bound, "readOnly": True})
    return mounts


_CERTIFICATES = "internal-certificates"
_TOKEN, _BOUND = "qontract-reconcile-sa-token", "bound-qontract-reconcile-sa-token"


def _certificates(known: Mapping[str, str]) -> Manifest:
    """Puts a site's own authorities where the integration looks for those it trusts."""
    image, into = "INTERNAL_CERTIFICATES_IMAGE", "/tmp/etc-pki/"
    return {
        "name": _CERTIFICATES,
        "image": f"{known[image]}:{known[f'{image}_TAG']}",
        "imagePullPolicy": known[f"{image}_PULL_POLICY"],
        "command": ["/bin/sh", "-c"],
        "args": [f"cp -r /etc/pki/. {into}\n"],
        "volumeMounts": [{"name": _CERTIFICATES, "mountPath": into}],
        "resources": {
            "requests": {"memory": "10Mi", "cpu": "15m"},
            "limits": {"memory": "20Mi"},
        },
    }


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
    empty = ["logs", "tmp-dir"] + ([_CERTIFICATES] if spec.get("internalCertificates") else [])
    return volumes + [{"name": name, "emptyDir": {}} for name in empty]


def _cron_job(
    shard: WorkloadShard, managed: Managed, ground: NamespaceDefaults, image: str
) -> Manifest:
    spec, known = managed.spec, ground.parameters
    pod = {
        "serviceAccountName": APP,
        "restartPolicy": spec.get("restartPolicy") or "OnFailure",
        "containers": [
            {
                "name": "int",
                "image": image,
                "env": job_variables(shard, spec, known, adopted=ground.adopted),
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
