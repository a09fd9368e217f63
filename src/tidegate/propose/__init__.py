"""A change of files offered as a merge request: branch, commit, push, request. Knows no kind."""
