---------------------------- MODULE ClusterPace -----------------------------
(* When a bounded thing of `Cluster` may happen: at any time in a search of  *)
(* all states; now and then in a simulation, which draws one action after    *)
(* another, each with the same chance, and would spend all faults in the     *)
(* first few states.                                                         *)
EXTENDS ClusterProperties

CONSTANT
    Pace            \* states between two disturbances of a behaviour, at least

Always(what) == TRUE

Disturbances ==
    {"crashes", "expiries", "controller_expiries", "lost_replies", "topics", "deletions",
     "requests", "cancellations"}

RECURSIVE Spent(_)
Spent(whats) ==
    IF whats = {} THEN 0
    ELSE LET what == CHOOSE what \in whats : TRUE
         IN Limits[what] - budget[what] + Spent(whats \ {what})

Paced(what) == what \in Disturbances => TLCGet("level") > Pace * Spent(Disturbances)
=============================================================================
