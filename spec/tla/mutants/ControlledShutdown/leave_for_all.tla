--------------------------- MODULE leave_for_all ----------------------------
(* With a broker that ends all registrations go.                           *)
EXTENDS ControlledShutdown

WrongOnceLeft(b) ==
    [path \in DOMAIN znodes |->
        IF \E other \in Brokers : path = BrokerPath(other) THEN Absent ELSE znodes[path]]
=============================================================================
