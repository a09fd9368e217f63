"""Registries of images, asked over the OCI distribution API."""
