-------------------------- MODULE tell_old_and_new --------------------------
(* What is written is told beside what was to be told before.              *)
EXTENDS Cluster

WrongAfterWrite(c, told) ==
    [Forget(c) EXCEPT
        !.to_tell = @ \cup told,
        !.is_stop_sent = IF controllers[c].decision[1].topic = <<>> THEN @ ELSE FALSE]
=============================================================================
