"""Images as people speak of them: a repository, and within it a tag, a digest, or both.

Within one repository the rest is all that tells images apart, and is what a rollout calls its
revision: `ed21267`, `ed21267@sha256:…`, `sha256:…`. An image of another repository is called by its
whole name, so that no two images are ever called the same.
"""


def revision_of(image: str, repository: str) -> str:
    """What an image is called where everybody speaks of one repository."""
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


def is_same(wanted: str, running: str) -> bool:
    """Whether what runs already is what is wanted, so that nothing needs to restart.

    A tag alone is satisfied by the same tag with a digest: whoever pins what runs changes nothing.
    """
    if wanted == running:
        return True
    return not digest_of(wanted) and running.partition("@")[0] == wanted
