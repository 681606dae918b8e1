---------------------- MODULE believe_the_longer_time -----------------------
(* A broker keeps the later of two times at which a token is over.         *)
EXTENDS DelegationTokens

WrongLearnt(b) == [token EXCEPT !.expires = IF @ < known[b].expires THEN known[b].expires ELSE @]
=============================================================================
