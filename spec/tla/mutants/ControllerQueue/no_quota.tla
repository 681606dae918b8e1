------------------------------ MODULE no_quota ------------------------------
(* Whatever is asked for is admitted.                                        *)
EXTENDS ControllerQueue

WrongIsAdmitting == TRUE
=============================================================================
