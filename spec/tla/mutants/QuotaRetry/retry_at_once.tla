--------------------------- MODULE retry_at_once ----------------------------
(* A client that was refused asks again at once.                             *)
EXTENDS QuotaRetry

WrongWaitFor(throttle) == 0
=============================================================================
