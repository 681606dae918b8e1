---------------------- MODULE watch_set_after_reading -----------------------
(* The watch is set when all is read: it does not fire for what came before. *)
EXTENDS RegistrationReading

WrongIsStillOld == FALSE
=============================================================================
