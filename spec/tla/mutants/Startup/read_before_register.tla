------------------------ MODULE read_before_register ------------------------
(* The broker reads its assignment, from a server that is up to date, and    *)
(* registers afterwards; it takes its role from the read (V3 E), and an      *)
(* arrival triggers nothing.                                                 *)
EXTENDS Startup

WrongIsToRead == broker.phase = "down"
WrongPhaseOnceRead == "read"
WrongIsRecent(i) == i >= Len(trees)
WrongIsToRegister == broker.phase = "read"
WrongPhaseOnceRegistered == "read_and_registered"
WrongTakesRoleFrom(tree, p) == IsAssigned(tree, p)
WrongSentAtArrival(c) == {}
=============================================================================
