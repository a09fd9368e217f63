"""The rollout library of Open Cluster Management, decision for decision; frozen."""
