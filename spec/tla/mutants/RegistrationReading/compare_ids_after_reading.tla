--------------------- MODULE compare_ids_after_reading ----------------------
(* The brokers are listed once more in the end. What was read is known if    *)
(* the same ids are there, and else the whole reading is of no use.          *)
EXTENDS RegistrationReading

WrongKnown ==
    IF Registered(reading.epochs) = Registered(Registrations) THEN reading.epochs
    ELSE controller.view
=============================================================================
