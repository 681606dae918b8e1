-------------------- MODULE max_epoch_of_another_reading --------------------
(* The largest epoch is put in when a body is sent, and not when the brokers *)
(* were read that it is made of.                                             *)
EXTENDS MetadataBodies

WrongMaxBrokerEpoch(view) ==
    registrations[CHOOSE b \in Brokers : \A other \in Brokers :
                    registrations[b] >= registrations[other]]
=============================================================================
