"""The Python packages of `fencepost[kafka]`, which only a target that is Kafka needs."""

from importlib.util import find_spec

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.kafka.releases import find_target

MODULES = {"kio": "kio", "confluent_kafka": "confluent-kafka"}
"""What is imported -> the package that has it."""


def require_packages(target: str) -> None:
    """Raise `ChoiceError` when the target needs a package that is not installed."""
    needed = MODULES if find_target(target).client else ("kio",)
    for module in needed:
        if find_spec(module) is None:
            raise ChoiceError(
                f"{target} needs the Python package {MODULES[module]}, which is not installed: "
                'pip install "fencepost[kafka]"'
            )
