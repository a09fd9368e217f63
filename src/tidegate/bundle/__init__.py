"""The bundle: files that declare things, read and checked; each kind gives them a meaning."""
