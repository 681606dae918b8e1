----------------------------- MODULE QuotaRetry -----------------------------
(* How an admin client meets the controller mutation quota (KIP-599): it     *)
(* waits for as long as a refusal says and asks again, until the time-out of *)
(* its call is over; a tool that does not want to wait asks once.            *)
(*                                                                           *)
(* One client, one bucket: others have their own (`MutationQuota`). Times    *)
(* are what is left of them, so that behaviours have no end.                 *)
EXTENDS Integers

CONSTANTS
    Rate,           \* partitions per tick
    Burst,          \* partitions that the bucket keeps
    Size,           \* partitions of each topic
    is_retrying,    \* the client asks again by itself
    Limits          \* topics that the client wants, ticks that its call may take

VARIABLES
    tokens,         \* of the client's bucket
    wanted,         \* topics that are not admitted yet
    status,         \* of the call: "asking", "waiting", "done", "failed"
    wait,           \* ticks that the client has still to wait
    left,           \* ticks until its call times out
    refusals        \* history: 2 stands for any number above 1

vars == <<tokens, wanted, status, wait, left, refusals>>

Min(n, other) == IF n < other THEN n ELSE other
RoundedUp(numerator, denominator) == (numerator + denominator - 1) \div denominator

Init ==
    /\ tokens = Burst
    /\ wanted = Limits.topics
    /\ status = "asking"
    /\ wait = 0
    /\ left = Limits.ticks
    /\ refusals = 0

(* Every variable has the shape that its readers expect.                     *)
TypeOK ==
    /\ tokens \in -Size * Limits.topics .. Burst
    /\ wanted \in 0 .. Limits.topics
    /\ status \in {"asking", "waiting", "done", "failed"}
    /\ wait \in 0 .. Size * Limits.topics
    /\ wanted = 0 <=> status = "done"
    /\ status = "waiting" => refusals > 0
    /\ status \in {"asking", "done"} => wait = 0
    /\ left \in 0 .. Limits.ticks
    /\ refusals \in 0 .. 2

IsAdmitting == tokens >= 0
Paid == tokens - Size

(* The controller takes a topic.                                             *)
AdmitMutation ==
    /\ status = "asking"
    /\ IsAdmitting
    /\ tokens' = Paid
    /\ wanted' = wanted - 1
    /\ status' = IF wanted = 1 THEN "done" ELSE "asking"
    /\ UNCHANGED <<wait, left, refusals>>

(* How long a client that is told `throttle` waits, and whether it waits.    *)
WaitFor(throttle) == throttle
IsPatient == is_retrying /\ left > 0

(* The controller refuses a topic and says how long to wait.                 *)
RefuseMutation ==
    /\ status = "asking"
    /\ tokens < 0
    /\ status' = IF IsPatient THEN "waiting" ELSE "failed"
    /\ wait' = WaitFor(RoundedUp(-tokens, Rate))
    /\ refusals' = Min(refusals + 1, 2)
    /\ UNCHANGED <<tokens, wanted, left>>

IsToAskAgain == status = "waiting" /\ wait = 0

(* The client asks again.                                                    *)
SendRequest ==
    /\ IsToAskAgain
    /\ status' = "asking"
    /\ UNCHANGED <<tokens, wanted, wait, left, refusals>>

(* One tick passes: much can be done in it, and is. A call that is over tells*)
(* what was refused last.                                                    *)
PassTime ==
    /\ status # "asking" /\ ~IsToAskAgain
    /\ tokens' = Min(tokens + Rate, Burst)
    /\ wait' = IF wait > 0 THEN wait - 1 ELSE 0
    /\ left' = IF left > 0 THEN left - 1 ELSE 0
    /\ status' = IF status = "waiting" /\ left' = 0 THEN "failed" ELSE status
    /\ UNCHANGED <<wanted, refusals>>

-----------------------------------------------------------------------------
Next ==
    \/ AdmitMutation
    \/ RefuseMutation
    \/ SendRequest
    \/ PassTime

Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

-----------------------------------------------------------------------------
(* A client that waited as long as it was told is not refused again for the  *)
(* same topic: it asks when there are tokens.                                *)
\* @req QUOTA-002
\* @req QUOTA-008
RetryHonoursThrottle == [][status = "waiting" /\ status' = "asking" => tokens >= 0]_vars

(* A call that asks again fails by its time-out and by nothing else.         *)
\* @req QUOTA-008
FailsByTimeout == is_retrying /\ status = "failed" => left = 0

(* A tool that does not ask again is told the first refusal.                 *)
\* @req QUOTA-008
FailsAtOnce == ~is_retrying => status # "waiting" /\ refusals <= 1

(* A topic is taken when there is no debt, so that none is larger than one.  *)
\* @req QUOTA-001
DebtIsOfOneTopic == tokens >= -Size

(* A call that is over waits no longer.                                      *)
\* @req QUOTA-008
WaitingHasTime == status = "waiting" => left > 0

(* Each topic is paid for once, and what is refused costs nothing.           *)
\* @req QUOTA-001
\* @req QUOTA-003
TopicsArePaid ==
    [][/\ wanted' # wanted => wanted' = wanted - 1 /\ tokens' = tokens - Size
       /\ tokens' < tokens => wanted' # wanted
       /\ wanted' # wanted => UNCHANGED <<wait, left, refusals>>]_vars

(* A refusal tells for how long the debt lasts, and no tick more.            *)
\* @req QUOTA-002
RefusalsTellTheWait ==
    [][status = "asking" /\ status' \notin {"asking", "done"} =>
        /\ wait' > 0
        /\ -tokens <= wait' * Rate /\ -tokens > (wait' - 1) * Rate
        /\ refusals' > refusals \/ refusals = 2
        /\ UNCHANGED <<tokens, wanted, left>>]_vars

(* In a tick the bucket fills, the wait gets shorter, and so does the time   *)
(* of the call: of all three or of none. A client that has waited asks at    *)
(* once.                                                                     *)
\* @req QUOTA-001
\* @req QUOTA-008
TicksAreShared ==
    [][(tokens' > tokens \/ wait' < wait \/ left' # left) =>
        /\ tokens' = tokens + Rate \/ (tokens' = Burst /\ tokens' - tokens < Rate)
        /\ wait' = wait - 1 \/ (wait = 0 /\ wait' = 0)
        /\ left' = left - 1 \/ (left = 0 /\ left' = 0)
        /\ status = "waiting" => wait > 0
        /\ UNCHANGED <<wanted, refusals>>]_vars

(* A call that is answered stays so; one that waits asks again, or fails     *)
(* when its time is over.                                                    *)
\* @req QUOTA-008
CallsEndOnce ==
    [][/\ status \in {"done", "failed"} => UNCHANGED <<status, wanted, refusals>>
       /\ status = "waiting" /\ status' # status =>
            IF left' = 0 THEN status' = "failed"
            ELSE status' = "asking" /\ UNCHANGED <<tokens, wanted, wait, left, refusals>>
       /\ left' = 0 /\ left > 0 => status' # "waiting"]_vars

(* Every call comes to its end.                                              *)
\* @req QUOTA-008
EventuallyAnswered == <>(status \in {"done", "failed"})

(* The bucket fills for all topics but the last before the call is over.     *)
IsTimeEnough == Limits.ticks * Rate >= Size * (Limits.topics - 1) - Burst + Rate

(* A client that asks again gets every topic, when time is enough.           *)
\* @req QUOTA-008
EventuallyAdmitted == is_retrying /\ IsTimeEnough => <>(status = "done")
=============================================================================
