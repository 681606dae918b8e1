------------------------------ MODULE Network -------------------------------
(* A link between two processes, as a choice of guarantees. `messages` is    *)
(* the set of what is in flight: records with `from`, `to`, `place` and      *)
(* `copy` beside their content. No variables live here: a module with        *)
(* messages keeps the set and bounds the faults.                             *)
(*                                                                           *)
(* A message may be late, and no process is obliged to receive it: a loss is *)
(* a message that never arrives, a refusal one that arrives without effect,  *)
(* and neither takes an action. A sender that repeats itself until it is     *)
(* answered is a message that stays.                                         *)
EXTENDS Integers

CONSTANT
    network         \* "unordered": any may overtake any; "ordered": none does on one link

ASSUME network \in {"unordered", "ordered"}

IsSameLink(m, other) == m.from = other.from /\ m.to = other.to

(* Behind everything that is in flight on its link. Without order all have   *)
(* one place, so that equal messages are one.                                *)
Placed(messages, m) ==
    LET taken == {0} \cup {other.place : other \in {x \in messages : IsSameLink(x, m)}}
        last == CHOOSE place \in taken : \A other \in taken : other <= place
    IN IF network = "unordered" THEN m ELSE [m EXCEPT !.place = last + 1]

(* One message per link at a time.                                           *)
Sent(messages, new) == messages \cup {Placed(messages, m) : m \in new}

(* It arrives, and what an ordered link holds before it has arrived without  *)
(* effect or is lost: it cannot come any more.                               *)
Received(messages, m) ==
    {other \in messages : other # m /\ ~(IsSameLink(other, m) /\ other.place < m.place)}

Lost(messages, m) == messages \ {m}

(* A second copy takes the place of the first: on an ordered link it comes   *)
(* right after it, otherwise at any time.                                    *)
IsFirstCopy(m) == m.copy = 1
Duplicated(messages, m) == messages \cup {[m EXCEPT !.copy = 2]}
=============================================================================
