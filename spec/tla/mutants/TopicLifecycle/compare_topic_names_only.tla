---------------------- MODULE compare_topic_names_only ----------------------
(* By names alone, a topic that was deleted and created again between two    *)
(* looks is the same topic.                                                  *)
EXTENDS TopicLifecycle

WrongIsAnother(current, known) == (known = NoIncarnation) # (current = NoIncarnation)
WrongKnowsIncarnation(c) == TRUE
=============================================================================
