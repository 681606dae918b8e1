-------------------------- MODULE sum_of_throttles --------------------------
(* A client waits for one quota after the other.                             *)
EXTENDS MutationQuota

WrongLarger(request_throttle, controller_throttle) == request_throttle + controller_throttle
=============================================================================
