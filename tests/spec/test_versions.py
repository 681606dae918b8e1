"""A package has the version that is installed, or none."""

from fencepost.spec.versions import SOURCE, version_of


def test_an_installed_package_has_a_version() -> None:
    assert version_of("msgspec")[0].isdigit()


def test_a_package_that_is_not_installed_is_source() -> None:
    assert version_of("no-such-package-of-ours") == SOURCE
