"""`python -m ci` is the `fencepost` command."""

from ci.cli import main

main()
