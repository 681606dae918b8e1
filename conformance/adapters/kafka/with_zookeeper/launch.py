"""Waits until a broker's former registration is gone, then becomes the broker.

Kafka ends when it finds its znode in `/brokers/ids` owned by another session, as it does for up to
a session timeout after a kill. So a broker that is started again begins as this, under the pid that
it keeps: `python -m ….kafka.with_zookeeper.launch ZOOKEEPER PATH COMMAND ...`. It says so, which
is the evidence of a bounce that was faster than the session.
"""

import sys
from threading import Event

from fencepost.conformance.adapters.kafka.started import become
from fencepost.fault_injection.zookeeper.client import NoZnodeError, ZooKeeperClient
from fencepost.spec.zookeeper import ZooKeeperError

POLL_S = 0.02
AGAIN_S = 0.2


def await_absence(zookeeper: str, path: str) -> None:
    """Return when there is no znode at `path`; a ZooKeeper that does not answer is asked again."""
    wait = Event()
    while True:
        try:
            with ZooKeeperClient(zookeeper) as client:
                owner = client.read(path).ephemeral_owner
                print(f"its registration still belongs to session {owner:#x}", flush=True)  # noqa: T201
                while True:
                    client.read(path)
                    wait.wait(POLL_S)
        except NoZnodeError:
            return
        except ZooKeeperError:
            wait.wait(AGAIN_S)


if __name__ == "__main__":
    at, registration, *command = sys.argv[1:]
    await_absence(at, registration)
    become(command)
