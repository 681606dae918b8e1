--------------------------- MODULE elections_last ---------------------------
(* Creations are handled before elections.                                   *)
EXTENDS ControllerQueue

WrongNextEvent ==
    IF \A i \in DOMAIN queue : queue[i] = "election" THEN 1
    ELSE CHOOSE i \in DOMAIN queue :
            queue[i] = "creation" /\ \A other \in 1 .. i - 1 : queue[other] = "election"
=============================================================================
