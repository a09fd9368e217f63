"""OpenShift Cluster Manager: port, client and simulator."""
