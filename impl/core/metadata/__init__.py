"""Metadata of the cluster on their way from the controller to clients (UMD)."""
