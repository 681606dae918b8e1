"""What commands need around them, looked for before anything long begins."""

import os
from pathlib import Path

from fencepost.ci.gate.failures import ExpectedError, HarnessError, UsageError
from fencepost.ci.gate.runs import check_writable, require_room
from fencepost.ci.screens.console import note
from fencepost.conformance.adapters.choices import PROXY
from fencepost.fault_injection.network.namespaces.links import NoNamespacesError, enter_own_network
from fencepost.spec.tlc.cache.cache_folder import OVERRIDE, cache_folder
from fencepost.spec.tlc.java.dialect import dialect_of
from fencepost.spec.tlc.java.installation import EXPECTED_ERRORS, find_tlc


def require_tlc() -> None:
    """Raise `HarnessError` when there is no Java or no TLC to run."""
    try:
        dialect_of(find_tlc().jar)
    except EXPECTED_ERRORS as error:
        raise HarnessError(str(error)) from error


def require_cache(*, is_wanted: bool) -> None:
    """Warn when the folder chosen for kept verdicts cannot keep any."""
    chosen = os.environ.get(OVERRIDE)
    if is_wanted and chosen and cache_folder() is None:
        note(f"{OVERRIDE} is {chosen}, where nothing can be written: no verdict is kept")


def require_out(folder: Path | None) -> None:
    """Make `folder`, if one is named; raise `UsageError` when files cannot be put there."""
    if folder is not None:
        _make(folder, "another with --out", UsageError)


def require_cluster_folder(folder: Path) -> None:
    """Make `folder`; raise `HarnessError` when a cluster cannot live there."""
    _make(folder, "another folder with --cluster", HarnessError)


def _make(folder: Path, instead: str, failure: type[ExpectedError]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder)
        require_room(folder, instead)
    except OSError as error:
        why = error.strerror or str(error)
        raise failure(f"{folder} takes no files: {why}; name {instead}") from error


def require_file(path: Path, option: str) -> None:
    """Raise `UsageError` when no file can be written at `path`, which `option` names."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file with {option}")
    try:
        check_writable(path.parent)
    except OSError as error:
        why = error.strerror or str(error)
        told = f"{path} cannot be written: {why}; name another file with {option}"
        raise UsageError(told) from error


def enter_network(choice: str) -> None:
    """This process is where a run with that network must be started from.

    Of namespaces, that is a network of our own, so that the machine's is left alone. Raises
    `HarnessError` when there can be none.
    """
    if choice == PROXY:
        return

    try:
        enter_own_network()
    except NoNamespacesError as error:
        raise HarnessError(f"skipped: {error}") from error
