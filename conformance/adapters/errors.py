"""What goes wrong with a cluster under test before anything is judged; cheap to import."""


class ChoiceError(ValueError):
    """A name, level, address or setting that cannot be used; says what to give instead."""


class ClusterError(Exception):
    """The cluster is not as it should be; says what was waited for and what brokers said last."""


class StepNotOfferedError(ClusterError):
    """A story asks for something that the implementation does not offer."""
