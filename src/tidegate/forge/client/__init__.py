"""Forges: GitLab, GitHub, Gitea and Forgejo over HTTP, and one inside a bare repository."""
