"""Registries of images: port and client."""
