"""Holds both ends of every link of the requirement catalogue together.

Run `python -m fencepost.ci.pages.catalogue_lint`.

With `--missing` it also prints, per requirement, what the chain from text to mutant still lacks.
"""

import sys

from fencepost.conformance.catalogue.lint import coverage, lint, survey
from fencepost.conformance.catalogue.requirements import CatalogueError, load_catalogue


def main() -> int:
    """Print what is wrong; 0 when nothing is, 1 for a broken link, 3 for an unreadable file."""
    try:
        requirements = load_catalogue()
        faults = lint(requirements, survey())
    except CatalogueError as error:
        print(f"catalogue: {error}", file=sys.stderr)
        return 3
    for fault in faults:
        print(f"catalogue: {fault}")
    if "--missing" in sys.argv[1:]:
        for line in coverage(requirements):
            print(line)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
