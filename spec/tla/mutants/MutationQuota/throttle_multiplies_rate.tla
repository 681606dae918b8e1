---------------------- MODULE throttle_multiplies_rate ----------------------
(* The text of KIP-599 multiplies the debt by the rate, in partitions; its   *)
(* own example divides.                                                      *)
EXTENDS MutationQuota

WrongThrottle(tokens) == IF tokens >= 0 THEN 0 ELSE RoundedUp(-tokens * Rate, Cost * Cost)
=============================================================================
