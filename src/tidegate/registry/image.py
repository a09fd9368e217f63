"""Images as people speak of them: a repository, and within it a tag, a digest, or both.

Within one repository the rest is all that tells images apart, and is what a rollout calls its
revision: `ed21267`, `ed21267@sha256:…`, `sha256:…`. An image of another repository is called by its
whole name, so that no two images are ever called the same.

A tag can be moved, a digest cannot. Where a registry is asked, a wanted tag is *settled* into the
tag with its digest, and a moved tag is another revision. What already runs under the same tag and
digest is kept as it is written, because any other spelling would restart it.
"""

import re
from collections.abc import Mapping

# Tags that are moved by habit.
MUTABLE = frozenset(("latest", "main", "master", "edge", "nightly", "dev"))
# A commit's name, or a whole version: those are not moved, although nothing prevents it.
_ONE_BUILD = re.compile(r"[0-9a-f]{7,64}|v?[0-9]+\.[0-9]+\.[0-9]+([.+_-].*)?")


def revision_of(image: str, repository: str) -> str:
    """What an image is called where the repository is known."""
    for joint in (":", "@"):
        if image.startswith(f"{repository}{joint}"):
            return image.removeprefix(f"{repository}{joint}")
    return image


def image_named(revision: str, repository: str) -> str:
    """The image a revision stands for; the other way round."""
    if "/" in revision:
        return revision
    joint = "@" if revision.startswith("sha256:") else ":"
    return f"{repository}{joint}{revision}"


def tag_of(image: str) -> str:
    """The tag of an image; empty where only a digest is named."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]


def digest_of(image: str) -> str:
    """The digest of an image; empty where only a tag is named."""
    return image.partition("@")[2]


def is_one_build(tag: str) -> bool:
    """Whether a tag looks like the name of one build, which always was and will be the same."""
    return _ONE_BUILD.fullmatch(tag) is not None


def is_same(wanted: str, running: str, pulled: str = "") -> bool:
    """Whether what runs already is what is wanted, so that nothing needs to restart.

    A tag alone is satisfied by the same tag with a digest: a pin to what runs changes nothing.
    `pulled` is the digest a pod says it runs (`imageID`); empty: it was not read.
    """
    if wanted == running:
        return True
    if not digest_of(wanted):
        return running.partition("@")[0] == wanted
    tags = {tag_of(wanted), tag_of(running)} - {""}
    same_place = repository_of(wanted) == repository_of(running)
    return same_place and len(tags) <= 1 and digest_of(wanted) == (digest_of(running) or pulled)


def repository_of(image: str) -> str:
    """An image without its tag and its digest."""
    name = image.partition("@")[0]
    tag = tag_of(name)
    return name.removesuffix(f":{tag}") if tag else name


def settled(image: str, digests: Mapping[str, str], running: str = "", pulled: str = "") -> str:
    """What to write for an image that is wanted: with the digest its tag has, where that is known.

    What runs is kept as it is written if it is the same. `digests` has images as they are written.
    """
    digest = "" if digest_of(image) else digests.get(image, "")
    wanted = f"{image}@{digest}" if digest else image
    return running if running and is_same(wanted, running, pulled) else wanted


def pulled_digest(image_id: str) -> str:
    """The digest in what a pod calls its image; empty where it names none of a registry's.

    `quay.io/a/b@sha256:…` and `docker-pullable://quay.io/a/b@sha256:…` name one; a bare `sha256:…`
    is the image's own identity on its node, which no registry knows it by.
    """
    return image_id.rpartition("@")[2] if "@" in image_id else ""
