"""Waits until a broker's former registration is gone, then becomes the broker.

Kafka ends when it finds its znode in `/brokers/ids` owned by another session, as it does for up to
a session timeout after a kill. So a broker that is started again begins as this, under the pid that
it keeps: `python -m fencepost.conformance.adapters.kafka.launch ZOOKEEPER PATH COMMAND ...`.
"""

import os
import sys
from datetime import datetime
from threading import Event

from fencepost.fault_injection.zookeeper.client import NoZnodeError, ZooKeeperClient
from fencepost.spec.zookeeper import ZooKeeperError

POLL_S = 0.02
AGAIN_S = 0.2
STARTED = "START of a broker process"


def await_absence(zookeeper: str, path: str) -> None:
    """Return when there is no znode at `path`; a ZooKeeper that does not answer is asked again."""
    wait = Event()
    while True:
        try:
            with ZooKeeperClient(zookeeper) as client:
                while True:
                    client.read(path)
                    wait.wait(POLL_S)
        except NoZnodeError:
            return
        except ZooKeeperError:
            wait.wait(AGAIN_S)


def started_line(now: datetime) -> str:
    """The first line of each process of a broker, dated as log4j dates its own."""
    return f"[{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}] {STARTED}\n"


if __name__ == "__main__":
    at, registration, *command = sys.argv[1:]
    await_absence(at, registration)
    sys.stdout.write(started_line(datetime.now()))  # noqa: DTZ005 - log4j dates in local time
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted
