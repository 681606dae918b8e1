---------------------- MODULE init_deletes_by_omission ----------------------
(* The broker deletes what a request with INIT does not name (V3 C.3), under *)
(* the rules that InitRules has.                                             *)
EXTENDS Startup

WrongDeletedByOmission(m) ==
    IF m.is_init /\ (m.controller_epoch # broker.controller_epoch \/ "first" \notin InitRules)
    THEN Partitions \ DOMAIN m.states ELSE {}
=============================================================================
