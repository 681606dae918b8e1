"""A worker process that ends with the process that started it, however that ends."""

import os
import threading
from multiprocessing import connection, parent_process

EXIT_ORPHANED = 3


def end_with_parent() -> None:
    """End this process, one of `multiprocessing`, as soon as its parent has ended."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(EXIT_ORPHANED)

    threading.Thread(target=watch, daemon=True).start()
