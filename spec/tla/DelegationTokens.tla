-------------------------- MODULE DelegationTokens --------------------------
(* One delegation token at level 5 (KIP-48): controllers renew it, end it    *)
(* and remove it once it is over, each by a write that rests on what it has  *)
(* read; brokers believe what they have read, which may be of before.        *)
(*                                                                           *)
(* Times are what is left of them, so that behaviours have no end. All       *)
(* clocks go alike: only what is read and written takes time. A renewal that *)
(* was begun in time counts, though the token may be over when it is written.*)
EXTENDS Integers

CONSTANTS
    Brokers,        \* they let the holder of the token in, by what they know of it
    Controllers,    \* a former one has still to write what it has begun
    Life,           \* ticks that the token lives at most
    Renewal,        \* ticks for which it is made, and renewed
    Lag,            \* ticks within which a broker reads what was written
    Limits          \* changes that the owner asks for

VARIABLES
    token,          \* the znode: is_there, expires and life in ticks, version
    known,          \* broker -> what it has read of the znode
    behind,         \* broker -> ticks since that was written over
    change,         \* controller -> what it is to write, and the version that it has read
    budget,         \* changes that the owner may still ask for
    age,            \* history: ticks since the token was made
    idle,           \* history: ticks since it was made or renewed
    ended           \* history: ticks since its owner ended it, or it went; -1 before

vars == <<token, known, behind, change, budget, age, idle, ended>>

Nothing == [kind |-> "none", version |-> 0]
Kinds == {"renew", "end", "remove"}

Min(n, other) == IF n < other THEN n ELSE other
Less(ticks) == IF ticks > 0 THEN ticks - 1 ELSE 0

Made == [is_there |-> TRUE, expires |-> Min(Renewal, Life), life |-> Life, version |-> 0]

Init ==
    /\ token = Made
    /\ known = [b \in Brokers |-> Made]
    /\ behind = [b \in Brokers |-> 0]
    /\ change = [c \in Controllers |-> Nothing]
    /\ budget = Limits.changes
    /\ age = 0
    /\ idle = 0
    /\ ended = -1

(* The owner's changes, and the removal.                                     *)
Versions == 0 .. Limits.changes + 1
Znodes ==
    [is_there : BOOLEAN, expires : 0 .. Renewal, life : 0 .. Life, version : Versions]

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ token \in Znodes
    /\ token.expires <= token.life
    /\ known \in [Brokers -> Znodes]
    /\ behind \in [Brokers -> 0 .. Lag]
    /\ \A b \in Brokers : known[b].version = token.version => behind[b] = 0
    /\ change \in [Controllers -> [kind : Kinds \union {"none"}, version : Versions]]
    /\ budget \in 0 .. Limits.changes
    /\ age \in 0 .. Life
    /\ idle \in 0 .. Renewal
    /\ ended \in -1 .. Lag + 1

IsOver(one) == one.expires = 0

-----------------------------------------------------------------------------
(* Whether a change is begun of the token as it stands: what is over is      *)
(* removed, and nothing else is done to it.                                  *)
MayChange == ~IsOver(token) /\ budget > 0
MayRemove == IsOver(token)

(* A controller reads the token: its owner or a renewer asks for a change,   *)
(* or it is time to look for what is over.                                   *)
ReadToken(c, kind) ==
    /\ change[c] = Nothing
    /\ token.is_there
    /\ IF kind = "remove" THEN MayRemove ELSE MayChange
    /\ change' = [change EXCEPT ![c] = [kind |-> kind, version |-> token.version]]
    /\ budget' = IF kind = "remove" THEN budget ELSE budget - 1
    /\ UNCHANGED <<token, known, behind, age, idle, ended>>

(* A write takes effect on what was read, and on nothing that came later.    *)
IsAsRead(c) == token.version = change[c].version

RenewedFor == Min(Renewal, token.life)

Written(kind) ==
    CASE kind = "renew" -> [token EXCEPT !.expires = RenewedFor, !.is_there = TRUE]
      [] kind = "end" -> [token EXCEPT !.expires = 0]
      [] kind = "remove" -> [token EXCEPT !.is_there = FALSE]

(* A controller's change takes effect, or is refused since another was first.*)
ApplyMutation(c) ==
    /\ change[c] # Nothing
    /\ change' = [change EXCEPT ![c] = Nothing]
    /\ IF IsAsRead(c)
       THEN /\ token' = [Written(change[c].kind) EXCEPT !.version = @ + 1]
            /\ idle' = IF change[c].kind = "renew" THEN 0 ELSE idle
            /\ ended' = IF change[c].kind = "renew" THEN -1
                        ELSE IF ended = -1 THEN 0 ELSE ended
       ELSE UNCHANGED <<token, idle, ended>>
    /\ UNCHANGED <<known, behind, budget, age>>

Learnt(b) == token

(* A broker reads what the token is now.                                     *)
ReadConfig(b) ==
    /\ known' = [known EXCEPT ![b] = Learnt(b)]
    /\ behind' = [behind EXCEPT ![b] = 0]
    /\ UNCHANGED <<token, change, budget, age, idle, ended>>

Later(one) == [one EXCEPT !.expires = Less(@), !.life = Less(@)]

(* One tick passes, for all; no broker is behind by more than the lag.       *)
PassTime ==
    /\ \A b \in Brokers : known[b].version = token.version \/ behind[b] < Lag
    /\ token' = Later(token)
    /\ known' = [b \in Brokers |-> Later(known[b])]
    /\ behind' = [b \in Brokers |->
        IF known[b].version = token.version THEN 0 ELSE behind[b] + 1]
    /\ age' = Min(age + 1, Life)
    /\ idle' = Min(idle + 1, Renewal)
    /\ ended' = IF ended = -1 THEN -1 ELSE Min(ended + 1, Lag + 1)
    /\ UNCHANGED <<change, budget>>

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Controllers, kind \in Kinds : ReadToken(c, kind)
    \/ \E c \in Controllers : ApplyMutation(c)
    \/ \E b \in Brokers : ReadConfig(b)
    \/ PassTime

Fairness ==
    /\ WF_vars(PassTime)
    /\ WF_vars(\E c \in Controllers : ReadToken(c, "remove"))
    /\ \A c \in Controllers : WF_vars(ApplyMutation(c))
    /\ \A b \in Brokers : WF_vars(ReadConfig(b))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Whether a broker lets the holder in.                                      *)
Counts(b) == known[b].is_there /\ ~IsOver(known[b])

(* No renewal lets a token live longer than its maximum.                     *)
\* @req SEC-003
NeverCountsPastItsLife == \A b \in Brokers : Counts(b) => age < Life

(* A token that nothing renews is over, whether or not a broker has heard of *)
(* what else was done to it.                                                 *)
\* @req SEC-003
CountsWhileRenewed == \A b \in Brokers : Counts(b) => idle < Renewal

(* What its owner has ended lets no holder in for longer than a broker takes *)
(* to read it.                                                               *)
\* @req SEC-003
EndIsHeard == \A b \in Brokers : Counts(b) => ended <= Lag

(* No token goes that could still be used.                                   *)
\* @req SEC-003
RemovedOnlyWhenOver ==
    [][token.is_there /\ ~token'.is_there => token.expires = 0]_vars

(* A token that went does not come back.                                     *)
\* @req SEC-003
GoneForGood == [][~token.is_there => ~token'.is_there]_vars

(* Changes are begun one at a time, of a token that is there, and no renewal *)
(* of one that is over.                                                      *)
\* @req SEC-003
BegunInTime ==
    [][\A c \in Controllers :
        change'[c] \notin {change[c], Nothing} =>
            /\ change[c] = Nothing
            /\ token.is_there
            /\ change'[c].kind = "renew" => idle < Renewal /\ age < Life /\ ended = -1]_vars

(* A renewal lasts as long as is usual, within the life of the token; an end *)
(* is one at once; and each is written once.                                 *)
\* @req SEC-003
ChangedAsAsked ==
    [][token'.version # token.version =>
        /\ token'.version = token.version + 1
        /\ token'.life = token.life
        /\ token'.expires \in {0, Min(Renewal, token.life)}]_vars

(* Every token that is over goes at last.                                    *)
\* @req SEC-003
EventuallyRemoved == <>[]~token.is_there

(* And all brokers hear of that.                                             *)
\* @req SEC-003
EventuallyForgotten == <>[](\A b \in Brokers : ~known[b].is_there)
=============================================================================
