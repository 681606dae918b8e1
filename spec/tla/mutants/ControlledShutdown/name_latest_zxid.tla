-------------------------- MODULE name_latest_zxid --------------------------
(* A broker asks under the last zxid in place of its epoch.                *)
EXTENDS ControlledShutdown

WrongNamedEpoch(b) == zxid
=============================================================================
