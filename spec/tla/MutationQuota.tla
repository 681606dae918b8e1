---------------------------- MODULE MutationQuota ----------------------------
(* The controller mutation quota (KIP-599): a bucket of tokens per client,   *)
(* from which every created or deleted partition takes one. Time counts in   *)
(* ticks. Tokens are integers: a partition costs `Cost` of them, so that a   *)
(* rate below one partition per tick is a number too.                        *)
(*                                                                           *)
(* A client stands for one (user, client-id) with a quota of its own; names  *)
(* and precedence are `QuotaPrecedence`'s, how a client tries again is       *)
(* `QuotaRetry`'s, what the quota is for is `ControllerQueue`'s. The request *)
(* quota is a number that comes with each request. An old client is never    *)
(* refused; the connection of either is muted for as long as its answer says.*)
(* Left out: the time that an answer has waited for its topics.              *)
EXTENDS Integers

CONSTANTS
    Clients,
    OldClients,     \* a subset, which cannot be told of a refusal
    Connections,    \* 1 .. n per client; a mute holds one of them
    RequestThrottles,  \* ticks that the request quota may ask for
    Cost,           \* tokens per partition
    Rate,           \* tokens per tick
    Samples,        \* how many windows of unused rate a bucket keeps
    Window,         \* ticks
    Sizes,          \* partitions of one topic
    Topics,         \* in one request
    Limits,         \* how often each bounded thing may happen
    admission       \* "at_zero": K >= 0, "above_zero": K > 0

VARIABLES
    now,            \* ticks that really passed
    clock_offset,   \* of the wall clock; a monotonic clock has none
    buckets,        \* at the controller: tokens, and when they were counted
    muted_until,    \* per client and connection
    silent_until,   \* history: the time before which nothing may be taken from it
    promises,       \* per client the time from which it must be admitted
    admitted,       \* history: partitions per client and tick
    charged,        \* history: tokens taken per client
    failovers,      \* history: ticks of controller changes
    budget,         \* what is left of Limits
    breaches        \* history: acts that no rule allows

vars == <<now, clock_offset, buckets, muted_until, silent_until, promises, admitted, charged,
          failovers, budget, breaches>>

ASSUME OldClients \subseteq Clients
ASSUME admission \in {"at_zero", "above_zero"}

Burst == Rate * Samples * Window
Never == -1
Ticks == 0 .. Limits.ticks
LargestTopic == CHOOSE n \in Sizes : \A other \in Sizes : other <= n
Smallest(numbers) == CHOOSE n \in numbers : \A other \in numbers : n <= other

Min(n, other) == IF n < other THEN n ELSE other
Max(n, other) == IF n > other THEN n ELSE other

RECURSIVE Sum(_, _, _)
Sum(per_tick, from, to) ==
    IF from > to THEN 0 ELSE per_tick[from] + Sum(per_tick, from + 1, to)

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

Breached(invariant, actor, is_breached) ==
    IF is_breached THEN {[invariant |-> invariant, actor |-> actor]} ELSE {}

FullBucket == [tokens |-> Burst, counted_at |-> now]

Init ==
    /\ now = 0
    /\ clock_offset = 0
    /\ buckets = [c \in Clients |-> FullBucket]
    /\ muted_until = [c \in Clients |-> [n \in Connections |-> 0]]
    /\ silent_until = muted_until
    /\ promises = [c \in Clients |-> Never]
    /\ admitted = [c \in Clients |-> [tick \in Ticks |-> 0]]
    /\ charged = [c \in Clients |-> 0]
    /\ failovers = [tick \in Ticks |-> 0]
    /\ budget = Limits
    /\ breaches = {}

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ now \in Ticks
    /\ clock_offset \in -Limits.clock_steps .. Limits.clock_steps
    /\ buckets \in [Clients -> [tokens : Int, counted_at : Int]]
    /\ muted_until \in [Clients -> [Connections -> Nat]]
    /\ silent_until \in [Clients -> [Connections -> Nat]]
    /\ promises \in [Clients -> {Never} \cup Nat]
    /\ admitted \in [Clients -> [Ticks -> Nat]]
    /\ charged \in [Clients -> Int]
    /\ failovers \in [Ticks -> 0 .. Limits.failovers]
    /\ \A what \in DOMAIN Limits : budget[what] \in 0 .. Limits[what]

-----------------------------------------------------------------------------
(* Time *)

(* One tick passes.                                                          *)
PassTime ==
    /\ Spend("ticks")
    /\ now' = now + 1
    /\ UNCHANGED <<clock_offset, buckets, muted_until, silent_until, promises, admitted, charged,
                   failovers, breaches>>

(* An operator sets the wall clock a tick back or forward.                   *)
StepClock ==
    /\ Spend("clock_steps")
    /\ \E step \in {-1, 1} : clock_offset' = clock_offset + step
    /\ UNCHANGED <<now, buckets, muted_until, silent_until, promises, admitted, charged, failovers,
                   breaches>>

-----------------------------------------------------------------------------
(* The bucket *)

(* Buckets are filled by a monotonic clock.                                  *)
Clock == now

(* The bucket that a client takes from.                                      *)
BucketOf(c) == c

(* Unused rate is kept up to the burst.                                      *)
Kept(tokens) == Min(tokens, Burst)

(* K := min(K + (now - T) * R, B) (QUOTA-001).                               *)
Tokens(c) ==
    LET bucket == buckets[BucketOf(c)]
    IN Kept(bucket.tokens + (Clock - bucket.counted_at) * Rate)

IsAdmitting(tokens) == IF admission = "at_zero" THEN tokens >= 0 ELSE tokens > 0

RoundedUp(numerator, denominator) == (numerator + denominator - 1) \div denominator

(* -K / R, in whole ticks (QUOTA-002).                                       *)
Throttle(tokens) == IF tokens >= 0 THEN 0 ELSE RoundedUp(-tokens, Rate)

Counted(c, tokens) ==
    [buckets EXCEPT ![BucketOf(c)] = [tokens |-> tokens, counted_at |-> Clock]]

Promised(c, tokens) == [promises EXCEPT ![c] = IF tokens < 0 THEN now + Throttle(tokens) ELSE Never]

(* The client is told the larger of both throttles, and its connection is    *)
(* muted for that time, since it may not honour what it is told (QUOTA-010). *)
Larger(request_throttle, controller_throttle) == Max(request_throttle, controller_throttle)
IsMutedWhenTold(c) == TRUE
IsMuted(c, n) == muted_until[c][n] > now

(* An answer to a request that came over connection `n`: the request quota   *)
(* asks for some ticks, this one for as many as `tokens` lack. The history   *)
(* counts these one by one.                                                  *)
Answer(c, n, request_throttle, tokens) ==
    LET throttle == Larger(request_throttle, Throttle(tokens))
        needed == Smallest({ticks \in 0 .. request_throttle + Max(0, -tokens) :
                                ticks >= request_throttle /\ tokens + ticks * Rate >= 0})
    IN /\ muted_until' = [muted_until EXCEPT
                            ![c][n] = IF IsMutedWhenTold(c) THEN Max(@, now + throttle) ELSE @]
       /\ silent_until' = [silent_until EXCEPT ![c][n] = Max(@, now + needed)]

-----------------------------------------------------------------------------
(* Requests *)

(* The versions of requests that have a word for a refusal (QUOTA-003).      *)
IsRefusable(c) == c \notin OldClients

(* What is admitted as one: a topic.                                         *)
Units == Sizes

(* Tokens that are taken, whoever the client is.                             *)
Charge(c, partitions) == partitions * Cost
RefusalCharge == 0
ValidationCharge == 0

(* A topic of a request is admitted, and all its partitions are charged: the *)
(* bucket may go into debt once. An old client is admitted in any case, and  *)
(* has to be silent until the debt is paid (QUOTA-003); a new one learns of  *)
(* the debt when it is refused.                                              *)
AdmitMutation(c) ==
    \E n \in Connections, partitions \in Units, request_throttle \in RequestThrottles :
        LET tokens == Tokens(c)
            left == tokens - Charge(c, partitions)
        IN /\ Spend("mutations")
           /\ ~IsMuted(c, n)
           /\ IsAdmitting(tokens) \/ ~IsRefusable(c)
           /\ buckets' = Counted(c, left)
           /\ Answer(c, n, request_throttle, IF IsRefusable(c) THEN 0 ELSE left)
           /\ promises' = Promised(c, left)
           /\ admitted' = [admitted EXCEPT ![c][now] = @ + partitions]
           /\ charged' = [charged EXCEPT ![c] = @ + tokens - left]
           /\ breaches' = breaches
                \cup Breached("SilentWhileThrottled", c, silent_until[c][n] > now)
           /\ UNCHANGED <<now, clock_offset, failovers>>

(* A topic is refused, and its client is told how long to wait. Nothing is   *)
(* charged for it. A client that was told before and waited must not be.     *)
RefuseMutation(c) ==
    \E n \in Connections, request_throttle \in RequestThrottles :
        LET tokens == Tokens(c)
            left == tokens - RefusalCharge
        IN /\ Spend("refusals")
           /\ ~IsMuted(c, n)
           /\ IsRefusable(c)
           /\ ~IsAdmitting(tokens)
           /\ buckets' = Counted(c, left)
           /\ Answer(c, n, request_throttle, left)
           /\ promises' = Promised(c, left)
           /\ charged' = [charged EXCEPT ![c] = @ + tokens - left]
           /\ breaches' = breaches
                \cup Breached("ThrottleSuffices", c, promises[c] # Never /\ promises[c] <= now)
                \cup Breached("SilentWhileThrottled", c, silent_until[c][n] > now)
                \cup Breached("OldClientsAccepted", c, c \in OldClients)
           /\ UNCHANGED <<now, clock_offset, admitted, failovers>>

(* A request that asks for validation only is answered at any time and costs *)
(* nothing (QUOTA-004).                                                      *)
ValidateMutation(c) ==
    LET tokens == Tokens(c)
        left == tokens - ValidationCharge
    IN /\ Spend("validations")
       /\ buckets' = Counted(c, left)
       /\ charged' = [charged EXCEPT ![c] = @ + tokens - left]
       /\ UNCHANGED <<now, clock_offset, muted_until, silent_until, promises, admitted, failovers,
                      breaches>>

(* Another broker becomes controller. Buckets are in memory, so it begins    *)
(* with full ones, and no client is muted there.                             *)
ElectController ==
    /\ Spend("failovers")
    /\ buckets' = [c \in Clients |-> [tokens |-> Burst, counted_at |-> Clock]]
    /\ muted_until' = [c \in Clients |-> [n \in Connections |-> 0]]
    /\ silent_until' = muted_until'
    /\ promises' = [c \in Clients |-> Never]
    /\ failovers' = [failovers EXCEPT ![now] = @ + 1]
    /\ UNCHANGED <<now, clock_offset, admitted, charged, breaches>>

-----------------------------------------------------------------------------
Next ==
    \/ PassTime
    \/ StepClock
    \/ \E c \in Clients : AdmitMutation(c)
    \/ \E c \in Clients : RefuseMutation(c)
    \/ \E c \in Clients : ValidateMutation(c)
    \/ ElectController

(* Time passes, as far as a model goes; no client need ask.                  *)
Spec == Init /\ [][Next]_vars /\ WF_vars(PassTime)

-----------------------------------------------------------------------------
IsCleanOf(invariant) == \A breach \in breaches : breach.invariant # invariant

(* Unused rate is kept for Samples windows and no longer.                    *)
\* @req QUOTA-001
TokensNeverAboveBurst == \A c \in Clients : Tokens(c) <= Burst

IsWithin(bursts, c, from, to) ==
    Sum(admitted[c], from, to) * Cost <= bursts * (Burst + LargestTopic * Cost) + Rate * (to - from)

(* In any d ticks at most B + R * d and one topic that goes over are         *)
(* admitted, and as much again as burst for each controller change in them:  *)
(* that is what the reset allows, and we let it.                             *)
\* @req QUOTA-001
\* @req QUOTA-003
RateBounded ==
    \A c \in Clients : \A from, to \in 0 .. now :
        from <= to => IsWithin(1 + Sum(failovers, from, to), c, from, to)

(* A burst is admitted once, whoever is controller. It does not hold, and    *)
(* that is a fact: a new controller knows nothing of what the former one has *)
(* admitted.                                                                 *)
\* @req QUOTA-001
BurstOnlyOnce ==
    \A c \in Clients : \A from, to \in 0 .. now : from <= to => IsWithin(1, c, from, to)

(* A client that waits as long as it was told is admitted next.              *)
\* @req QUOTA-002
ThrottleSuffices == IsCleanOf("ThrottleSuffices")

(* No client is told to wait longer than it has to.                          *)
\* @req QUOTA-002
ThrottleIsShortest ==
    \A c \in Clients :
        Throttle(Tokens(c)) > 0 => ~IsAdmitting(Tokens(c) + (Throttle(Tokens(c)) - 1) * Rate)

(* Nothing is taken from a connection before the time that both quotas ask   *)
(* for is over.                                                              *)
\* @req QUOTA-010
SilentWhileThrottled == IsCleanOf("SilentWhileThrottled")

(* And no connection is muted for longer.                                    *)
\* @req QUOTA-010
MutedNoLonger ==
    \A c \in Clients : \A n \in Connections : muted_until[c][n] <= silent_until[c][n]

(* A request of a version that has no word for it is never refused.          *)
\* @req QUOTA-003
OldClientsAccepted == IsCleanOf("OldClientsAccepted")

(* What was refused, or only validated, takes no token, and everything that  *)
(* was admitted takes its own.                                               *)
\* @req QUOTA-003
\* @req QUOTA-004
RejectedCostsNothing == \A c \in Clients : charged[c] = Sum(admitted[c], 0, now) * Cost

(* A client that has asked for nothing owes nothing: one client's flood is   *)
(* not another's.                                                            *)
\* @req QUOTA-005
OnlyOwnDebt == \A c \in Clients : charged[c] = 0 => Tokens(c) >= 0

(* A client that owes is promised the first tick at which it does not.       *)
\* @req QUOTA-002
PromisesAreOfDebts ==
    \A c \in Clients :
        LET bucket == buckets[BucketOf(c)]
            then == bucket.tokens + (promises[c] - bucket.counted_at) * Rate
        IN IF promises[c] = Never THEN bucket.tokens >= 0
           ELSE then < Rate /\ (promises[c] >= bucket.counted_at => then >= 0)

(* A connection that both quotas let go is heard: a topic that comes over it *)
(* is admitted or refused.                                                   *)
\* @req QUOTA-010
HeardOnceTimeIsOver ==
    \A c \in Clients :
        /\ \E n \in Connections : silent_until[c][n] <= now
        /\ budget["mutations"] > 0 /\ budget["refusals"] > 0
        => ENABLED AdmitMutation(c) \/ ENABLED RefuseMutation(c)

(* A promise is made for a time to come. A refusal is one to a new client,   *)
(* and mutes it; a new client that is admitted hears of the request quota    *)
(* alone.                                                                    *)
\* @req QUOTA-002
\* @req QUOTA-003
\* @req QUOTA-010
PromisesAreMade ==
    [][/\ \A c \in Clients : promises'[c] \in {promises[c], Never} \/ promises'[c] > now
       /\ budget'["refusals"] < budget["refusals"] =>
            \E c \in Clients \ OldClients : \E n \in Connections :
                promises'[c] > now /\ muted_until'[c][n] >= promises'[c]
       /\ budget'["mutations"] < budget["mutations"] =>
            \A c \in Clients \ OldClients : \A n \in Connections :
                muted_until'[c][n] \in
                    {muted_until[c][n]} \cup {now + throttle : throttle \in RequestThrottles}]_vars

(* A client that owes comes to owe nothing, and is heard again, if no        *)
(* promise takes the place of the one that it has: its bucket fills while it *)
(* waits, and no mute goes on for ever.                                      *)
\* @req QUOTA-001
\* @req QUOTA-002
EventuallyHeard ==
    \A c \in Clients : \A tick \in Ticks :
        promises[c] = tick ~>
            \/ promises[c] # tick
            \/ Tokens(c) >= 0 /\ \E n \in Connections : ~IsMuted(c, n)

(* A bound is spent on what it is for; what a controller knew ends with it.  *)
BoundedStepsHaveEffect ==
    [][/\ budget'["ticks"] < budget["ticks"] <=> now' = now + 1
       /\ budget'["clock_steps"] < budget["clock_steps"] <=> clock_offset' # clock_offset
       /\ budget'["failovers"] < budget["failovers"] => \A c \in Clients :
            /\ buckets'[c].tokens = Burst
            /\ promises'[c] = Never
            /\ \A n \in Connections : muted_until'[c][n] <= now]_vars

-----------------------------------------------------------------------------
(* What must be possible *)

IsAdmitted(c) == charged[c] > 0

(* A topic takes the bucket into debt, and is paid for later.                *)
DebtIsMade == \E c \in Clients : Tokens(c) < 0
DebtIsPaid == \E c \in Clients : charged[c] > Burst /\ Tokens(c) >= 0
BucketIsFullAgain == \E c \in Clients : IsAdmitted(c) /\ Tokens(c) = Burst

(* A client is muted while it owes, and may ask over another connection.     *)
MutedInDebt == \E c \in Clients : \E n \in Connections : IsMuted(c, n) /\ Tokens(c) < 0
OtherConnectionIsOpen ==
    \E c \in Clients : \E n, other \in Connections : IsMuted(c, n) /\ ~IsMuted(c, other)

(* It has waited for as long as it was told, and is admitted.                *)
WaitedEnough ==
    \E c \in Clients : promises[c] # Never /\ promises[c] <= now
        /\ \A n \in Connections : ~IsMuted(c, n)
AdmittedBeyondBurst == \E c \in Clients : charged[c] > Burst + LargestTopic * Cost

(* The request quota alone mutes a client that owes nothing.                 *)
MutedWithoutDebt == \E c \in Clients : \E n \in Connections : IsMuted(c, n) /\ Tokens(c) > 0

(* One client owes, and another does not.                                    *)
OneClientOwes == \E c, other \in Clients : Tokens(c) < 0 /\ IsAdmitted(other) /\ Tokens(other) > 0

(* A controller change gives the burst again, and ends every mute.           *)
BurstIsGivenAgain == ~BurstOnlyOnce
MuteIsForgotten ==
    \E c \in Clients : failovers[now] > 0 /\ charged[c] > Burst
        /\ \A n \in Connections : ~IsMuted(c, n)

(* The wall clock is wrong while a debt is paid.                             *)
ClockIsWrong == clock_offset # 0 /\ DebtIsPaid
=============================================================================
