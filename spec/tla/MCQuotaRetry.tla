---------------------------- MODULE MCQuotaRetry -----------------------------
(* Bounds for TLC, as numbers that a cfg can set. *)
EXTENDS QuotaRetry

CONSTANTS MaxTopics, MaxTicks

Bounds == [topics |-> MaxTopics, ticks |-> MaxTicks]
=============================================================================
