------------------- MODULE max_epoch_from_separate_reads --------------------
(* The registrations are read one by one.                                    *)
EXTENDS Fencing

WrongLooks == {[controller.view EXCEPT ![b] = Registrations[b]] : b \in Brokers}
=============================================================================
