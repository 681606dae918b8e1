"""The steps of stories by their verbs."""

from types import NoneType
from typing import get_args

from fencepost.fault_injection.stories.steps import config_step, story_step
from fencepost.fault_injection.stories.steps.story_step import StoryStep

_DECLARED = [one for module in (story_step, config_step) for one in vars(module).values()]
VERBS: dict[str, type[StoryStep]] = {
    next(iter(one.__annotations__)): one
    for one in _DECLARED
    if isinstance(one, type) and issubclass(one, StoryStep) and not one.__subclasses__()
}
"""Verb -> the step that it begins: its first field. Of a fault that is `kind`."""
BARE = frozenset(
    verb
    for verb, step in VERBS.items()
    if NoneType in get_args(step.__annotations__[verb]) or step.__annotations__[verb] is None
)
"""The verbs that can stand alone, as a text in place of an object."""
