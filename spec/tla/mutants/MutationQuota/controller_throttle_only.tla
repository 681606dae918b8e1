---------------------- MODULE controller_throttle_only ----------------------
(* The time of this quota hides that of the request quota.                   *)
EXTENDS MutationQuota

WrongLarger(request_throttle, controller_throttle) ==
    IF controller_throttle > 0 THEN controller_throttle ELSE request_throttle
=============================================================================
