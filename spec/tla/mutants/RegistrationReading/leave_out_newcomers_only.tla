---------------------- MODULE leave_out_newcomers_only ----------------------
(* A broker that the controller knew before is known by any epoch.           *)
EXTENDS RegistrationReading

WrongIsTaken(b) == reading.epochs[b] <= reading.listed_zxid \/ controller.view[b] # 0
=============================================================================
