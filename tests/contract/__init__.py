"""Contracts: one suite for every implementation of a port."""
