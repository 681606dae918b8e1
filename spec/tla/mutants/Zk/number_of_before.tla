-------------------------- MODULE number_of_before --------------------------
(* What is created bears the number of the transaction before.             *)
EXTENDS Zk

WrongTransaction(ops) == Multi(znodes, ops, zxid)
=============================================================================
