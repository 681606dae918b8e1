---------------------------- MODULE append_twice ----------------------------
(* A leader appends a record twice.                                        *)
EXTENDS IdempotentProducers

WrongAppended(m) == log \o <<m, m>>
=============================================================================
