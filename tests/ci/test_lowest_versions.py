"""What `make lowest` installs; that the gate runs on it is seen by running it."""

import pytest

from fencepost.ci.lowest_versions import direct_dependencies, lower_bounds


def test_every_direct_dependency_has_a_lower_bound() -> None:
    found = lower_bounds(direct_dependencies())

    assert len(found) == len(direct_dependencies()) > 10
    assert "pandas==2.2.2" in found


def test_a_dependency_without_a_lower_bound_is_named() -> None:
    with pytest.raises(SystemExit, match=r"pyproject.toml: rich<14 has no lower bound"):
        lower_bounds(["typer>=0.27", "rich<14"])
