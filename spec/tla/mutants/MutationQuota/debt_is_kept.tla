---------------------------- MODULE debt_is_kept ----------------------------
(* Time pays no debt: only a bucket that has tokens is filled.               *)
EXTENDS MutationQuota

WrongTokens(c) ==
    LET bucket == buckets[c]
    IN IF bucket.tokens < 0 THEN bucket.tokens
       ELSE Kept(bucket.tokens + (Clock - bucket.counted_at) * Rate)
=============================================================================
