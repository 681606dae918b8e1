--------------------------- MODULE compare_names ----------------------------
(* The client takes a child of a known name for the child that it knows.     *)
EXTENDS ZkWatches

WrongNoticed(name) ==
    IF (Served[name] = 0) = (client.acted_on[name] = 0) THEN client.acted_on[name]
    ELSE Served[name]
=============================================================================
