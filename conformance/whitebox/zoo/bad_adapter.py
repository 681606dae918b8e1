"""An adapter of no cluster with one bad habit, which comes with the call of id AT.

`python bad_adapter.py HABIT [AT]`; the standard library is enough for it.
"""

import json
import sys
import threading
from typing import Any

Json = dict[str, Any]
HABIT, AT = (*sys.argv[1:], "0")[:2]
ANSWERS: Json = {
    "hello": {"protocol": 1, "name": "zoo", "observes": {"roles": "exact"}},
    "observe": {"brokers": [], "partitions": []},
    "node_start": {"pid": 1},
    "bye": {},
}
EVENT = {"run_id": "r", "node": "broker-1", "seq": 0, "mono_ns": 0, "kind": "action", "action": "A"}
TRACES: Json = {
    "cursor_stays": {"events": [EVENT], "cursor": 0},
    "trace_of_another": {"events": [{**EVENT, "node": "client-1"}], "cursor": 1},
    "trace_of_no_event": {"events": [{"seq": "first"}], "cursor": 1},
}
if HABIT == "refuses_no_reason":
    ANSWERS["control"] = {"partitions": [{"topic": "t", "partition": 0}]}
if HABIT == "wrong_observe":
    ANSWERS["observe"] = {"brokers": [{"id": 1}], "partitions": []}
if HABIT in TRACES:
    ANSWERS["trace_read"] = TRACES[HABIT]
if HABIT == "has_processes":
    ANSWERS["hello"]["capabilities"] = ["processes"]


def misbehave(number: int, answer: Json) -> str:
    """What the habit writes in place of the answer."""
    line = json.dumps(answer)
    match HABIT:
        case "crashes":
            sys.stderr.write("the disk of the adapter is on fire\n")
            sys.exit(7)
        case "hangs":
            threading.Event().wait()
        case "wrong_id":
            return json.dumps({**answer, "id": number + 1000})
        case "garbage":
            return "starting up, please wait"
        case "long_line":
            return json.dumps({**answer, "message": "x" * 10_000_000})
        case "duplicate":
            return f"{line}\n{line}"
        case "missing_field":
            return json.dumps({"id": number, "status": "ok", "ofset": 1})
        case _:
            pass
    return line


def main() -> None:
    """Answer until the harness says bye."""
    for text in sys.stdin:
        call = json.loads(text)
        unknown = {} if HABIT == "agrees_to_all" else {"status": "unsupported"}
        answer = {"id": call["id"], "status": "ok", **ANSWERS.get(call["verb"], unknown)}
        line = misbehave(call["id"], answer) if call["id"] == int(AT) else json.dumps(answer)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        if call["verb"] == "bye":
            break


if __name__ == "__main__":
    main()
