------------------------ MODULE refuse_after_append -------------------------
(* A broker that stopped leading says that the produce failed.               *)
EXTENDS ClientHistory

WrongRefuseAfterAppend(b) ==
    \E i \in Answers("begun") :
        LET seen == history[i]
        IN /\ seen.broker = b
           /\ ~IsSettled(seen)
           /\ ~StillLeads(seen)
           /\ Told("refused", b, seen.leader_epoch, Unknown, seen.value)
           /\ UNCHANGED vars
=============================================================================
