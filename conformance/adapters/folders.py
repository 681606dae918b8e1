"""Where one cluster keeps its files."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """The folders of one cluster: the traces in `root`, the rest below it."""

    root: Path

    @property
    def processes(self) -> Path:
        """Logs of processes, and the ledger."""
        return self.root / "processes"

    @property
    def zookeeper(self) -> Path:
        """Data of the harness's own ZooKeeper."""
        return self.root / "zookeeper"

    @property
    def metadata(self) -> Path:
        """What nodes without a ZooKeeper keep of the cluster's state."""
        return self.root / "metadata"

    def data(self, broker_id: int) -> Path:
        """The logs of one broker's partitions."""
        return self.root / f"broker-{broker_id}"
