"""Typed documents that cross a border: payloads, lines and scenario files, without I/O."""
