"""What a znode should hold, and does not."""

import json
from collections.abc import Iterator

from msgspec import UNSET

from fencepost.fault_injection.stories.steps.story_cluster import Lines
from fencepost.fault_injection.stories.steps.story_step import ZnodeStep


def not_held(step: ZnodeStep, data: bytes | None, *, is_ephemeral: bool) -> Lines:
    """One line for each thing that the step wants of the znode and that is otherwise.

    The data is None for a znode that does not exist.
    """
    if data is None or not step.exists:
        is_fine = (data is not None) == step.exists
        return [] if is_fine else ["it does not exist" if step.exists else "it exists"]
    lines = []
    if step.ephemeral not in (UNSET, is_ephemeral):
        lines.append(f"ephemeral={is_ephemeral}")
    try:
        document = json.loads(data or b"null")
    except ValueError:
        return [*lines, f"it holds no JSON: {data!r}"]
    fields = document if isinstance(document, dict) else {"": document}
    return [*lines, *_wrong(step, fields)]


def _wrong(step: ZnodeStep, fields: dict[str, object]) -> Iterator[str]:
    for name, wanted in step.holds.items():
        allowed = wanted if isinstance(wanted, list) else [wanted]
        if name not in fields or (wanted is not None and fields[name] not in allowed):
            yield f"{name}={fields.get(name, 'absent')}"
