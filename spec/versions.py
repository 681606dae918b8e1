"""Versions of the packages on which a run rests."""

from importlib.metadata import PackageNotFoundError, version

SOURCE = "source"


def version_of(package: str) -> str:
    """The version that is installed; `source` for a package that is used without installation."""
    try:
        return version(package)
    except PackageNotFoundError:
        return SOURCE
