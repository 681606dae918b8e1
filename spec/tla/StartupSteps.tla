---------------------------- MODULE StartupSteps ----------------------------
(* What one step of `Startup` may do beside what it is about, and what       *)
(* administrators, trees and commands have to do with each other.            *)
EXTENDS Startup

LastTree == trees'[Len(trees')]

(* An administrator or a controller changes one topic at a time, and what is *)
(* said of it is another thing than before; nothing else changes topics. What*)
(* administrators want here is what ZooKeeper then assigns here.             *)
\* @req TOP-002
\* @req TOP-003
AdministratorsAsk ==
    [][LET now == znodes[TopicsPath].data next == LastTree[TopicsPath].data
           changed == {p \in Partitions : next[p] # now[p]}
       IN /\ changed # {} <=> budget'["changes"] < budget["changes"]
          /\ \A p, other \in changed : p = other
          /\ requested' # requested => changed # {} /\ UNCHANGED <<broker, controllers>>
          /\ LastTree[AddingPath] = znodes[AddingPath]
          /\ \A p \in Partitions :
                /\ requested'[p] # 0 <=> IsAssigned(LastTree, p)
                /\ requested'[p] \in {0, StateIn(LastTree, p).incarnation}]_vars

(* What a broker is told to serve a command tells it, which is used up; what *)
(* it reads gives it no role.                                                *)
\* @req START-002
\* @req CMD-002
RolesComeByCommands ==
    [][(broker'.told # broker.told /\ broker'.phase # "down") =>
        \E m \in messages \ messages' :
            /\ m.broker_epoch = BrokerEpoch
            /\ UNCHANGED <<trees, controllers, budget, requested>>
            /\ broker'.phase = broker.phase
            /\ \A p \in Partitions : broker'.told[p] # broker.told[p] =>
                /\ p \in DOMAIN m.states /\ broker'.told[p] = m.states[p]
                /\ broker'.logs[p] = m.states[p].incarnation]_vars

-----------------------------------------------------------------------------
(* What must be possible: an INIT comes in several requests.                 *)
InitComesInParts ==
    \E m, other \in messages :
        m.is_init /\ other.is_init /\ DOMAIN m.states \cap DOMAIN other.states = {}
=============================================================================
