---------------------- MODULE broker_epochs_in_memory -----------------------
(* The controller alone knows epochs, and the ISR keeps ids (KIP-380).       *)
EXTENDS Fencing

WrongHasIdsOnly == TRUE
=============================================================================
