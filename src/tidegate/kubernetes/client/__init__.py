"""A Kubernetes cluster, over its own HTTP interface."""
