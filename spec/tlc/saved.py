"""A counterexample as a file, for programs that step through it.

`spec/docs/models.md` tells the fields.
"""

import json
from pathlib import Path
from typing import Any

from fencepost.spec.tlc.compare import ModelResult
from fencepost.spec.tlc.models import Model
from fencepost.spec.tlc.mutants import MUTANTS
from fencepost.spec.tlc.values import TlaValueError, Value, parse_value


def as_document(model: Model, result: ModelResult) -> dict[str, Any]:
    """Model, constants, what is violated and the states of the counterexample, JSON-able."""
    assert result.counterexample is not None
    return {
        "model": model.name,
        "module": model.module,
        "constants": _constants(model),
        "violated": result.violated,
        "back_to": result.counterexample.back_to,
        "states": result.counterexample.as_data(),
    }


def save(folder: Path, model: Model, result: ModelResult) -> Path | None:
    """Write `<model>.json` below `folder`; None when there is no counterexample to save."""
    if result.counterexample is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model.name}.json"
    path.write_text(json.dumps(as_document(model, result), indent=1) + "\n")
    return path


def _constants(model: Model) -> dict[str, Value]:
    """Those that have a value, and the mutants; what stands for an operator follows from them."""
    texts = {name: text.partition(" ") for name, text in model.tlc_config().constants.items()}
    values = {name: _value(text) for name, (sign, _, text) in texts.items() if sign == "="}
    return {**values, MUTANTS: list(model.mutants)}


def _value(text: str) -> Value:
    try:
        return parse_value(text)
    except TlaValueError:
        return text
