"""Fencepost: a formally checked suite for leader-and-ISR replication under a ZooKeeper controller.

The rooms are the folders `spec`, `impl`, `conformance`, `fault_injection`, `reports` and `ci`
beside this one, which has a link to each; a wheel has them here. They are imported by one name:
`from fencepost.fault_injection import PauseBroker`.
"""
