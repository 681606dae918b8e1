----------------------- MODULE stamp_epoch_when_sent ------------------------
(* The largest epoch is that of the time of sending.                         *)
EXTENDS Fencing

WrongMaxStamp(m) == Largest(controller.view)
=============================================================================
