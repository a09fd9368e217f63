"""Partitions as their journals have them: found by name, decided for one moment, tagged, kept."""
