------------------------- MODULE fill_twice_a_tick --------------------------
(* The bucket fills at twice the rate.                                     *)
EXTENDS ControllerQueue

WrongFilled == Min(tokens + 2 * Rate, Burst)
=============================================================================
