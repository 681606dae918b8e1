---------------------- MODULE init_omits_newer_topics -----------------------
(* A list speaks of topics that were created after it was read.              *)
EXTENDS TopicLifecycle

WrongCreatedUntil(zxid) == Incarnations
=============================================================================
