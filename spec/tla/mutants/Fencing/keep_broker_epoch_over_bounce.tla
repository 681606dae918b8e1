------------------- MODULE keep_broker_epoch_over_bounce --------------------
(* A broker goes on under the epoch of its first registration.               *)
EXTENDS Fencing

WrongOwnEpoch(b) == b
=============================================================================
