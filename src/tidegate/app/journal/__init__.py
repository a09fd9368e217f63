"""The journal as its keeper uses it: shown, verified, moved and kept small."""
