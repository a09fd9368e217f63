"""OpenShift Cluster Manager over its HTTP interface."""
