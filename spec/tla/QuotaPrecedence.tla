-------------------------- MODULE QuotaPrecedence ---------------------------
(* The quota that a client gets (KIP-599, as for other quotas): quotas are   *)
(* set for a user, for a client-id, for both, and for the defaults of each;  *)
(* one of them applies, and clients that it applies to together share its    *)
(* bucket.                                                                   *)
(*                                                                           *)
(* A quota is for an entity: a pair of a user and a client-id, where         *)
(* `default` stands for any that has none of its own and `none` says that    *)
(* the quota does not look at it.                                            *)
EXTENDS FiniteSets, Integers

CONSTANTS
    Users,          \* names
    ClientIds,      \* names
    Limits          \* how often each bounded thing may happen

VARIABLES
    quotas,         \* entities that a quota is set for
    budget          \* what is left of Limits

vars == <<quotas, budget>>

Default == "default"
None == "none"
Entities ==
    [user : Users \cup {Default, None}, client_id : ClientIds \cup {Default, None}]
        \ {[user |-> None, client_id |-> None]}
Clients == [user : Users, client_id : ClientIds]
NoQuota == [user |-> None, client_id |-> None]

Init ==
    /\ quotas = {}
    /\ budget = Limits

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ quotas \subseteq Entities
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

Altered(entity) ==
    IF entity \in quotas THEN quotas \ {entity} ELSE quotas \cup {entity}

(* An administrator sets a quota, or takes it away.                          *)
AlterQuota(entity) ==
    /\ budget["alterations"] > 0
    /\ budget' = [budget EXCEPT !["alterations"] = @ - 1]
    /\ quotas' = Altered(entity)

Next ==
    \/ \E entity \in Entities : AlterQuota(entity)

-----------------------------------------------------------------------------
(* The entities that a client may have a quota by, the first of them wins.   *)
Order(client) ==
    <<[user |-> client.user, client_id |-> client.client_id],
      [user |-> client.user, client_id |-> Default],
      [user |-> client.user, client_id |-> None],
      [user |-> Default, client_id |-> client.client_id],
      [user |-> Default, client_id |-> Default],
      [user |-> Default, client_id |-> None],
      [user |-> None, client_id |-> client.client_id],
      [user |-> None, client_id |-> Default]>>

Applied(client) ==
    LET order == Order(client)
        set == {i \in DOMAIN order : order[i] \in quotas}
    IN IF set = {} THEN NoQuota ELSE order[CHOOSE i \in set : \A other \in set : i <= other]

(* A bucket belongs to what the quota looks at, by its own name: each client *)
(* that a default applies to has one.                                        *)
Bucket(client) ==
    LET entity == Applied(client)
    IN [user |-> IF entity.user = None THEN None ELSE client.user,
        client_id |-> IF entity.client_id = None THEN None ELSE client.client_id]

-----------------------------------------------------------------------------
IsFor(entity, client) ==
    /\ entity.user \in {client.user, Default, None}
    /\ entity.client_id \in {client.client_id, Default, None}

(* A quota applies where one is set that fits.                               *)
\* @req QUOTA-005
SomeQuotaApplies ==
    \A client \in Clients :
        \/ Applied(client) \in quotas \ {NoQuota} /\ IsFor(Applied(client), client)
        \/ Applied(client) = NoQuota /\ \A entity \in quotas : ~IsFor(entity, client)

(* A quota that names the user goes before one that does not, whatever they  *)
(* say of the client-id, and a default before none.                          *)
\* @req QUOTA-005
UserComesFirst ==
    \A client \in Clients : \A entity \in {one \in quotas : IsFor(one, client)} :
        /\ entity.user = client.user => Applied(client).user = client.user
        /\ entity.user = Default => Applied(client).user # None

(* Between quotas that say the same of the user, the name of the client-id   *)
(* goes before the default, and that before none.                            *)
\* @req QUOTA-005
ClientIdComesSecond ==
    \A client \in Clients : \A entity \in {one \in quotas : IsFor(one, client)} :
        entity.user = Applied(client).user =>
            /\ entity.client_id = client.client_id => Applied(client).client_id = client.client_id
            /\ entity.client_id = Default => Applied(client).client_id # None

(* Two clients share a bucket only under one quota that looks at nothing in  *)
(* which they differ, and then they do.                                      *)
\* @req QUOTA-005
BucketsAreShared ==
    \A client, other \in Clients :
        Bucket(client) = Bucket(other) <=>
            /\ Applied(client) = Applied(other)
            /\ Applied(client).user # None => client.user = other.user
            /\ Applied(client).client_id # None => client.client_id = other.client_id

(* An administrator sets one quota or takes one away.                        *)
\* @req QUOTA-005
AlterationsAreOfOne ==
    [][Cardinality((quotas \ quotas') \cup (quotas' \ quotas)) = 1]_vars

-----------------------------------------------------------------------------
(* What must be possible *)

(* What was set is taken away again.                                         *)
QuotaIsTakenAway == quotas = {} /\ budget["alterations"] < Limits["alterations"]

(* A default applies to two clients, each with a bucket of its own.          *)
DefaultAppliesToTwo ==
    \E client, other \in Clients :
        /\ Applied(client) = Applied(other) /\ Applied(client) # NoQuota
        /\ Bucket(client) # Bucket(other)

(* One applies that looks at the client-id alone, one for any client-id of a *)
(* user, and one that looks at the user alone.                               *)
ClientIdApplies ==
    \E client \in Clients :
        Applied(client).user = None /\ Applied(client).client_id = client.client_id
AnyClientIdApplies ==
    \E client \in Clients :
        Applied(client).user = client.user /\ Applied(client).client_id = Default
UserApplies ==
    \E client \in Clients :
        Applied(client).user = client.user /\ Applied(client).client_id = None
=============================================================================
