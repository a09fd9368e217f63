"""Logins at an issuer of OpenID Connect: its keys, its tokens, and the ways to get one."""
