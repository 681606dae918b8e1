------------------------- MODULE init_without_topic -------------------------
(* A controller decides the first leader of a topic that is not there.        *)
EXTENDS LeaderAndIsr

WrongInitLeader(c) ==
    /\ IsFree(c)
    /\ IsUninitialised(c)
    /\ \E leader \in controllers[c].live_brokers :
          controllers' = Decided(c, leader, 0, controllers[c].live_brokers, VersionBeforeInit,
                                 FALSE)
    /\ UNCHANGED <<znodes, replicas, messages, budget, breaches>>
=============================================================================
