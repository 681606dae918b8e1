"""How the C library keeps memory that a broker has freed.

glibc maps a large block by itself, and gives it back once it is freed. But each such block that is
freed raises the size from which blocks are large to its own, up to 32 MiB, and each arena may then
keep twice that: after one large request the next ones are cut from the arenas of several threads,
and leave holes there. Any user could let a broker grow so, which had freed all that it was sent.
"""

import ctypes

LARGE_BYTES = 1 << 20
"""From this size on a block is mapped by itself; few requests are as large."""
_MMAP_THRESHOLD = -3
"""Of the parameters of `mallopt`."""


def fix_large_size() -> None:
    """No block that is freed raises it any more; a C library other than glibc stays as it is."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
