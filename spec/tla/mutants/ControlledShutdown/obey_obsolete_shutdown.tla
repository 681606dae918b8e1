----------------------- MODULE obey_obsolete_shutdown -----------------------
(* A request names a broker by its id: the next start is let go, too.       *)
EXTENDS ControlledShutdown

WrongIsOfKnownRegistration(m) == TRUE
=============================================================================
