"""A process that speaks gRPC may start Spark, which forks before it becomes Java."""

import subprocess
import sys

import pytest

CHILDREN = 400
"""Without the switch one or two in each hundred abort."""

SCRIPT = """
import subprocess, sys
import conformance
import grpc

channel = grpc.insecure_channel("127.0.0.1:1")
waiting = grpc.channel_ready_future(channel)  # threads of gRPC are at work from here on
codes = []
for _ in range(int(sys.argv[1])):
    child = subprocess.Popen(["true"], preexec_fn=lambda: None, stderr=subprocess.DEVNULL)
    codes.append(child.wait())
waiting.cancel()
channel.close()
print(sorted(set(codes)))
"""


@pytest.mark.long
def test_no_child_aborts_between_fork_and_exec() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(CHILDREN)], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[0]\n"
    assert done.stderr == ""
