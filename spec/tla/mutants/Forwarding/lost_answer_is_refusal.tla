----------------------- MODULE lost_answer_is_refusal -----------------------
(* A client takes a missing answer for a refusal.                            *)
EXTENDS Forwarding

WrongAnswerOnceLost == "refused"
=============================================================================
