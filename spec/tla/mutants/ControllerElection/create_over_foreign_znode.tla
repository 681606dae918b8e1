--------------------- MODULE create_over_foreign_znode ----------------------
(* The election only creates, also where a persistent znode is.              *)
EXTENDS ControllerElection

WrongRemoval == <<>>
=============================================================================
