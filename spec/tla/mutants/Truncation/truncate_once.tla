--------------------------- MODULE truncate_once ----------------------------
(* The follower fetches after the first answer, whatever epoch that is of    *)
(* (KIP-101).                                                                *)
EXTENDS Truncation

WrongIsSettled == TRUE
=============================================================================
