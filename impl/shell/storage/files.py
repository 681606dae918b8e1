"""The file system calls of the logs; each failure becomes a `StorageError` of one sentence.

A bounded number of files is open, so that a broker with many partitions stays within its limits.
Tests and disk faults subclass `Files` to make calls fail as a disk does.
"""

import os
import shutil
from collections import OrderedDict
from pathlib import Path

OPEN_FILES_MAX = 512


class StorageError(Exception):
    """A disk operation failed or data is missing; the message names file and reason."""


class File:
    """One file, opened and created at its first use."""

    __slots__ = ("descriptor", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None


class Files:
    """The files of all logs of a broker; each call may raise `StorageError`."""

    def __init__(self, open_max: int = OPEN_FILES_MAX) -> None:
        self._open_max = open_max
        self._open: OrderedDict[File, int] = OrderedDict()

    def pwrite(self, descriptor: int, data: bytes, position: int) -> int:
        """As `os.pwrite`; tests replace it."""
        return os.pwrite(descriptor, data, position)

    def pread(self, descriptor: int, count: int, position: int) -> bytes:
        """As `os.pread`; tests replace it."""
        return os.pread(descriptor, count, position)

    def fsync(self, descriptor: int) -> None:
        """As `os.fsync`; tests replace it."""
        os.fsync(descriptor)

    def write(self, file: File, data: bytes, position: int) -> None:
        """Write all of `data` at `position`, without a flush."""
        try:
            written = self.pwrite(self._descriptor(file), data, position)
        except OSError as error:
            raise _failure("write", file.path, error) from error
        if written != len(data):
            raise StorageError(
                f"cannot write {file.path}: the disk took {written} of {len(data)} bytes"
            )

    def read(self, file: File, count: int, position: int) -> bytes:
        """Read `count` bytes, fewer at the end of the file."""
        try:
            return self.pread(self._descriptor(file), count, position)
        except OSError as error:
            raise _failure("read", file.path, error) from error

    def truncate(self, file: File, size: int) -> None:
        """Cut the file to `size` bytes."""
        try:
            os.ftruncate(self._descriptor(file), size)
        except OSError as error:
            raise _failure("cut", file.path, error) from error

    def flush(self, file: File) -> None:
        """Flush the file to the disk (fsync)."""
        try:
            self.fsync(self._descriptor(file))
        except OSError as error:
            raise _failure("flush", file.path, error) from error

    def make_folder(self, folder: Path, *, flush: bool) -> None:
        """Create the folder if it is missing; with `flush`, fsync its parent."""
        try:
            is_new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _failure("make", folder, error) from error
        if is_new and flush:
            self.flush_folder(folder.parent)

    def rename(self, folder: Path, other: Path, *, flush: bool) -> bool:
        """Rename a folder over `other`; False when it is missing. `flush` fsyncs the parent."""
        try:
            if other.exists():
                shutil.rmtree(other)
            if not folder.exists():
                return False
            folder.rename(other)
        except OSError as error:
            raise _failure("rename", folder, error) from error
        if flush:
            self.flush_folder(folder.parent)
        return True

    def flush_folder(self, folder: Path) -> None:
        """Flush the entries of `folder` to the disk (fsync)."""
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                self.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _failure("flush", folder, error) from error

    def replace(self, path: Path, data: bytes, *, flush: bool) -> None:
        """Replace the content of `path` atomically; with `flush`, also across a loss of power."""
        fresh = File(path.with_name(path.name + ".new"))
        try:
            fresh.path.unlink(missing_ok=True)
            self.write(fresh, data, 0)
            if flush:
                self.flush(fresh)
            self.close(fresh)
            fresh.path.replace(path)
        except OSError as error:
            raise _failure("write", path, error) from error
        finally:
            self.close(fresh)
        if flush:
            self.flush_folder(path.parent)

    def remove(self, file: File) -> None:
        """Close and delete the file."""
        self.close(file)
        try:
            file.path.unlink(missing_ok=True)
        except OSError as error:
            raise _failure("remove", file.path, error) from error

    def close(self, file: File) -> None:
        """Close the file; its next use opens it again."""
        descriptor = self._open.pop(file, None)
        if descriptor is not None:
            file.descriptor = None
            os.close(descriptor)

    def close_all(self) -> None:
        """Close all files without flushing, as a kill does."""
        for file in list(self._open):
            self.close(file)

    def _descriptor(self, file: File) -> int:
        if file.descriptor is not None:
            self._open.move_to_end(file)
            return file.descriptor
        if len(self._open) >= self._open_max:
            self.close(next(iter(self._open)))
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        file.descriptor = self._open[file] = os.open(file.path, flags, 0o644)
        return file.descriptor


def read_whole(path: Path) -> bytes | None:
    """The content of a small file; None when there is none; raises `StorageError`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failure("read", path, error) from error


def _failure(what: str, path: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot {what} {path}: {error.strerror or error}")
