"""Results under keys: found again only while they are whole, and kept where anything can be."""

import hashlib
from pathlib import Path

from fencepost.spec.tlc.cache.cache_folder import cache_folder, write_whole


def find_entry(kind: str, key: str) -> bytes | None:
    """What is kept of that kind under `key`; None for nothing, or for what is not whole."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        hash_, _, content = _path(folder, kind, key).read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if hash_of(content).encode() == hash_ else None


def keep_entry(kind: str, key: str, content: bytes) -> None:
    """Keep `content`; where nothing can be kept, that is no error."""
    folder = cache_folder()
    if folder is not None:
        write_whole(_path(folder, kind, key), hash_of(content).encode() + b"\n" + content)


def hash_of(*parts: bytes) -> str:
    """SHA-256 of parts that are told apart, in hexadecimal."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _path(folder: Path, kind: str, key: str) -> Path:
    return folder / kind / key[:2] / key
