"""The types of the fields of steps, with what the JSON Schema says of each."""

from typing import Annotated

from msgspec import Meta, UnsetType

from fencepost.fault_injection.faults.parameters import milliseconds, number
from fencepost.fault_injection.faults.targets import Target
from fencepost.fault_injection.stories.steps.observation import PARTITION, Observed
from fencepost.spec.znodes import TOPIC_NAME

Printed = Annotated[
    str | dict[str, str] | tuple[str, ...],
    Meta(description="what it prints; by run where runs differ; a list: one of these"),
]
Told = str | dict[str, str]
"""A text; by run where runs differ."""
Partition = Annotated[
    str, Meta(description="a partition, as in t/0: <topic>/<number>", pattern=f"^{PARTITION}$")
]
Also = Annotated[tuple[str, ...], Meta(description="more topics in the same request")]
TopicName = Annotated[str, Meta(description="a name of a topic", pattern=f"^{TOPIC_NAME.pattern}$")]
AtPoint = Annotated[
    str,
    Meta(
        description="an action of the protocol, send(<method>), write(<part of a path>) or "
        "read(<part of a path>); empty: at once"
    ),
]
Entries = Annotated[dict[str, str], Meta(description="values, each set once in a run")]
Claimed = Annotated[
    str, Meta(description="a principal that the request names, as if a broker forwarded it")
]
BrokerIds = tuple[Annotated[int, number("a broker id", ge=1)], ...]
Number = Annotated[int, number("", ge=0)]
Page = Annotated[
    str,
    Meta(
        description="state, results, log(t/0), or what broker 2 answers: moves(2), metadata(2), "
        "producer_id(2), quotas(2)",
        pattern=rf"^(state|results|log\({PARTITION}\)|(moves|metadata|producer_id|quotas)\([0-9]+\))$",
    ),
]
Positive = Annotated[int, number("", ge=1)]
LastsMs = Annotated[int, milliseconds("how long; 0: until it is ended", ge=0)]
OneBroker = Annotated[Target | UnsetType, Meta(description="the broker that is asked")]
Wanted = Annotated[dict[str, Observed], Meta(description="observations, as leader(t/0): 2")]
Asks = Annotated[bool, Meta(description="false: the next step does not wait for the answer")]
CURRENT = "current"
Epoch = Annotated[
    int
    | Annotated[
        str,
        Meta(
            description="the published one, or so much more or less",
            pattern=rf"^{CURRENT}([+-][0-9]+)?$",
        ),
    ],
    Meta(description="an epoch; -1: none is named"),
]
