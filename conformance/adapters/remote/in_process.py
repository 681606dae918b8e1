"""An implementation in Python, chosen by `py:PACKAGE.MODULE:NAME` and loaded into this process."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from fencepost.conformance.adapters.choices import IN_PROCESS
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.implementation import Implementation


def load(place: str) -> Implementation:
    """The object `MODULE:NAME`, or what it returns when it is called without arguments.

    Modules are also looked for in the current folder. Raises `ChoiceError`.
    """
    module, _, name = place.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ChoiceError(
            f"{IN_PROCESS}{place} cannot be loaded: {error}; give py:PACKAGE.MODULE:NAME"
        ) from error
    made = found() if callable(found) else found
    if not isinstance(made, Implementation):
        raise ChoiceError(f"{IN_PROCESS}{place} is a {type(made).__name__}, not an Implementation")
    return replace(made, chosen_as=IN_PROCESS + place)
