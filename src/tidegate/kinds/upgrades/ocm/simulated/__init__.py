"""An OpenShift Cluster Manager that is not there: its state, its rules, its HTTP interface."""
