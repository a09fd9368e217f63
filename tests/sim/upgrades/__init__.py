"""Organisations managed for months of virtual time, under every fault, and watched from outside.

A story is made from a seed: organisations with sectors, mutexes, limits, soak days and schedules in
simulated OpenShift Cluster Managers; versions that come out, upgrades that fail or are delayed;
owners who change their labels, sometimes for the worse; people who hold, freeze and block; workers
that die in the middle of any call, are frozen, and come back.

The witness looks at the OpenShift Cluster Managers alone: at what they show, at what was asked of
them, and at what people set. It knows nothing of how we decide.
"""
