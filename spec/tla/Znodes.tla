------------------------------- MODULE Znodes -------------------------------
(* Znodes as values: what one ZooKeeper transaction does to a tree.          *)
(* A tree is a function from path to znode. No variables live here: `Zk`     *)
(* adds sessions and clients, `LeaderAndIsr` keeps one tree of its own.      *)
EXTENDS Integers, Sequences

NoSession == 0
AnyVersion == -1
Absent == [data |-> <<>>, version |-> -1, ephemeral_owner |-> NoSession, czxid |-> 0]

CreateOp(path, data, owner) ==
    [op |-> "create", path |-> path, data |-> data, ephemeral_owner |-> owner]
SetDataOp(path, data, version) ==
    [op |-> "set_data", path |-> path, data |-> data, version |-> version]
DeleteOp(path, version) == [op |-> "delete", path |-> path, version |-> version]
CheckOp(path, version) == [op |-> "check", path |-> path, version |-> version]

Exists(tree, path) == tree[path].version >= 0

HasVersion(tree, op) == Exists(tree, op.path) /\ op.version \in {AnyVersion, tree[op.path].version}

IsAccepted(tree, op) == IF op.op = "create" THEN ~Exists(tree, op.path) ELSE HasVersion(tree, op)

(* A create starts again at version 0 and takes the transaction id: version  *)
(* numbers of two incarnations of a path are not comparable, czxids are.     *)
Changed(tree, op, zxid) ==
    CASE op.op = "create" ->
            [tree EXCEPT ![op.path] = [data |-> op.data, version |-> 0,
                                       ephemeral_owner |-> op.ephemeral_owner, czxid |-> zxid]]
      [] op.op = "set_data" ->
            [tree EXCEPT ![op.path].data = op.data, ![op.path].version = @ + 1]
      [] op.op = "delete" -> [tree EXCEPT ![op.path] = Absent]
      [] op.op = "check" -> tree

(* Operations in order until one is refused. Each tree is bound to a name   *)
(* before it is used, since TLC would else build it anew for every use: a    *)
(* multi of fifty operations would take for ever.                            *)
RECURSIVE Applied(_, _, _)
Applied(tree, ops, zxid) ==
    IF ops = <<>> THEN [ok |-> TRUE, tree |-> tree]
    ELSE IF ~IsAccepted(tree, Head(ops)) THEN [ok |-> FALSE, tree |-> tree]
    ELSE CHOOSE done \in {Applied(next, Tail(ops), zxid) :
                              next \in {Changed(tree, Head(ops), zxid)}} : TRUE

(* All of `ops` in order or none: each operation sees the ones before it.    *)
Multi(tree, ops, zxid) ==
    CHOOSE all \in {IF done.ok THEN done ELSE [ok |-> FALSE, tree |-> tree] :
                       done \in {Applied(tree, ops, zxid)}} : TRUE

(* What is left when a session ends: its ephemerals go in one transaction.   *)
WithoutSession(tree, session_id) ==
    [path \in DOMAIN tree |->
        IF session_id # NoSession /\ tree[path].ephemeral_owner = session_id
        THEN Absent ELSE tree[path]]
=============================================================================
