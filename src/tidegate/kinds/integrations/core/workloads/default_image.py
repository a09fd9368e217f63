"""The image of shards without one of their own: never guessed.

A manager hands its own tag on; where no manager is deployed, the environment may write `IMAGE_TAG`.
Where neither is known, or there are two answers, there is nothing to run: what depends on it holds.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.kinds.integrations.core.sharding.model import BranchHead, Namespace

NO_MANAGER = "no saas target deploys a manager there"
NO_IMAGE_REMEDY = "write imageRef, or fix where the image of the manager is written"
CERTIFICATES_TAG = "INTERNAL_CERTIFICATES_IMAGE_TAG"


class MissingImage(msgspec.Struct, frozen=True):
    """Why there is nothing to run, and what to write."""

    why: str
    remedy: str


def no_image(spec: Mapping[str, Any], namespace: Namespace) -> MissingImage | None:
    """Why shards of a place have nothing to run by what is written; None: they have.

    Which commit a branch is at is not written: it is read when it is needed.
    """
    if missing := no_certificates(spec, namespace, namespace.parameters):
        return missing
    if spec.get("imageRef"):
        return None
    if namespace.image.follows is not None:
        return None
    _, why = default_tag(namespace, {})
    return MissingImage(why, NO_IMAGE_REMEDY) if why else None


def no_certificates(
    spec: Mapping[str, Any], namespace: Namespace, written: Mapping[str, Any]
) -> MissingImage | None:
    """Why the image of a site's own authorities is not known; None: it is, or none is asked for.

    Its tag is never guessed either: what it is today, it may not be tomorrow.
    """
    if not spec.get("internalCertificates") or written.get(CERTIFICATES_TAG):
        return None
    where = namespace.environment
    why = f"internalCertificates in {where}: no tag is written for the image of its authorities"
    return MissingImage(why, f"write {CERTIFICATES_TAG} among the parameters of {where}")


def default_tag(namespace: Namespace, heads: Mapping[str, BranchHead]) -> tuple[str, str]:
    """The tag of the default image of a namespace, or why there is none."""
    image, environment = namespace.image, namespace.environment
    if image.tag:
        return image.tag, ""
    if image.follows is not None:
        branch, head = image.follows, heads.get(image.follows.key, BranchHead())
        if head.commit:
            return head.commit[: branch.length], ""
        said = f"{branch.where} follows {branch.branch} of {branch.url}, whose commit is not known"
        because = f" ({head.why})" if head.why else ""
        return "", f"no default image in {environment}: {said}{because}"
    if not image.why and (written := namespace.parameters.get("IMAGE_TAG")):
        return str(written), ""
    return "", f"no default image in {environment}: {image.why or NO_MANAGER}"
