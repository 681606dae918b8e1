----------------------- MODULE request_throttle_only ------------------------
(* The time of the request quota hides that of this one.                     *)
EXTENDS MutationQuota

WrongLarger(request_throttle, controller_throttle) ==
    IF request_throttle > 0 THEN request_throttle ELSE controller_throttle
=============================================================================
