-------------------- MODULE raise_epoch_unconditionally ---------------------
(* The election writes the epoch that it has computed over any other.        *)
EXTENDS ControllerElection

WrongEpochVersion == AnyVersion
=============================================================================
