"""A broker process that takes blocks of memory in place of requests.

It frees one, as after a large request, and tells of each smaller one whether it is mapped by
itself, as 1 or 0 in a line.
"""

import ctypes
import sys

from fencepost.impl.shell import node
from fencepost.impl.shell.allocator import LARGE_BYTES
from fencepost.impl.shell.options import NodeOptions, node_options, parse

LARGER_BYTES = 1 << 24
SIZES = (LARGE_BYTES, LARGE_BYTES // 2)
ARGUMENTS = "--broker-id 1 --zookeeper nowhere:1 --run-id r --data d --trace t"
FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class Kept(ctypes.Structure):
    """`struct mallinfo2` of glibc: what the allocator holds."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in FIELDS.split())


class Taking(node.NodeProcess):
    """Does nothing else of what a broker does."""

    def __init__(self, _: NodeOptions) -> None:
        self._libc = ctypes.CDLL(None)
        self._libc.mallinfo2.restype = Kept

    async def run(self) -> str | None:
        """Take a block of each size."""
        del [bytes(LARGER_BYTES)][:]
        for size in SIZES:
            before = self._mapped()
            block = bytes(size)
            sys.stdout.write(f"{self._mapped() - before}\n")
            del block
        return None

    def _mapped(self) -> int:
        return int(self._libc.mallinfo2().hblks)


if __name__ == "__main__":
    sys.exit(node.run(node_options(parse(["node", *ARGUMENTS.split()])), Taking))
