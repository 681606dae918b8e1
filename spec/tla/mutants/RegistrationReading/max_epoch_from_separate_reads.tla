------------------- MODULE max_epoch_from_separate_reads --------------------
(* All that was read is known, also what is newer than the listing.          *)
EXTENDS RegistrationReading

WrongIsTaken(b) == TRUE
=============================================================================
