"""What a step is to print."""

from fencepost.fault_injection.stories.steps.story_step import StoryStep


def printed_in(step: StoryStep, run_id: str, printed: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The lines that a step is to print in a run; of several texts, that which it printed."""
    expected = step.expected
    if isinstance(expected, tuple):
        texts = [tuple(text.splitlines()) for text in expected]
        return printed if printed in texts else texts[0]
    text = expected.get(run_id, "") if isinstance(expected, dict) else expected
    return tuple(text.splitlines())
