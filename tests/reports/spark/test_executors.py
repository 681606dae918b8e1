"""What comes back from executors."""

import socket
import warnings

from pyspark.sql import Row

from fencepost.reports.spark.executors import collected


class LeavesItsSocket:
    """As the frames of PySpark 4.1."""

    def collect(self) -> list[Row]:
        socket.socket()
        return [Row("found")]


def test_a_socket_that_spark_leaves_open_is_no_warning_of_ours() -> None:
    frame = LeavesItsSocket()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        by_itself = frame.collect()
        warned = len(seen)
        rows = collected(frame)

    assert rows == by_itself
    assert [one.category for one in seen] == [ResourceWarning]
    assert warned == 1
