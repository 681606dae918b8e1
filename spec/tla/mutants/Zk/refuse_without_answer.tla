----------------------- MODULE refuse_without_answer ------------------------
(* ZooKeeper leaves a request that cannot be done without an answer.         *)
EXTENDS Zk

WrongIsAnswered(r) == After(r).ok
=============================================================================
