"""Links to pictures, as the settings have them: off unless a public address is set."""

import os

from tidegate.net.picture_links import PictureLinks
from tidegate.settings.settings import Settings, revealed


def picture_links(settings: Settings) -> PictureLinks:
    """Links that are signed with the key of the settings; UserError if that is none."""
    if not settings.public_url:
        return PictureLinks()
    key = revealed(settings.picture_key, os.environ, "pictureKey")
    return PictureLinks(settings.public_url, key)
