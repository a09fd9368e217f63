"""Commands for owners of clusters and organisations."""
