"""The page: as HTML, and in Chromium."""
