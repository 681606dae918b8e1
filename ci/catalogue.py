"""Holds both ends of every link of the requirement catalogue together: `python -m ci.catalogue`."""

import sys

from conformance.catalogue_lint import lint, survey
from conformance.requirements import CatalogueError, load_catalogue


def main() -> int:
    """Print what is wrong; 0 when nothing is, 1 for a broken link, 3 for an unreadable file."""
    try:
        faults = lint(load_catalogue(), survey())
    except CatalogueError as error:
        print(f"catalogue: {error}", file=sys.stderr)
        return 3
    for fault in faults:
        print(f"catalogue: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
