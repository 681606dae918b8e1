---------------------- MODULE records_with_the_answer -----------------------
(* The last answer brings the leader's records along.                        *)
EXTENDS Truncation

WrongLogAfterAnswer ==
    LET cut == Cut(follower, leader) IN IF cut.is_settled THEN leader ELSE cut.log
=============================================================================
