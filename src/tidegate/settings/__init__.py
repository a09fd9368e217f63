"""The bundle and the settings: read, validated and cross-referenced."""
