"""Upgrades: OpenShift versions across clusters, declared by labels."""
