"""The modules of the specs that are proved for any size."""

from fencepost.spec.proofs.metadata.module import LEADER_AND_ISR_MODULE
from fencepost.spec.proofs.replication.module import REPLICATION_MODULE

MODULES = (REPLICATION_MODULE, LEADER_AND_ISR_MODULE)
"""The one over the other first."""
