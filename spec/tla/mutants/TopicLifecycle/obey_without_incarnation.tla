---------------------- MODULE obey_without_incarnation ----------------------
(* A broker obeys a command and does not note the incarnation that it is     *)
(* about.                                                                    *)
EXTENDS TopicLifecycle

WrongOnceObeyed(b, m, isr) ==
    [replicas[b] EXCEPT !.leader = m.leader, !.isr = isr, !.znode_version = m.znode_version]
=============================================================================
