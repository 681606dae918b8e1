"""Mutants of what a broker does with commands, records and clients (CMD, REPL, ISR, CLI)."""

from fencepost.impl.mutants.mutants import Mutant, MutantRecord
from fencepost.spec.vocabulary import Invariant, Liveness

REPLICA_MUTANTS: tuple[MutantRecord, ...] = (
    MutantRecord(
        mutant=Mutant.NO_STEP_DOWN,
        rule="A leader whose ISR write met another version leads on, with the ISR it wanted.",
        requirement="ISR-004",
        caught_by=frozenset(
            {
                Invariant.ONE_COMMITTER_PER_EPOCH,
                Invariant.ACKNOWLEDGED_DURABLE,
                Invariant.LINEARIZABLE_LOG,
                Invariant.LOG_MATCHING,
                Invariant.LEADER_COMPLETE,
            }
        ),
    ),
    MutantRecord(
        mutant=Mutant.ACKNOWLEDGE_BEFORE_REPLICATION,
        rule="A produce with acks=all is answered when the leader alone has it.",
        requirement="REPL-008",
        caught_by=frozenset({Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}),
    ),
    MutantRecord(
        mutant=Mutant.HIGH_WATERMARK_FROM_LEADER_ALONE,
        rule="The leader's high watermark is its own log end offset, not the minimum of the ISR.",
        requirement="REPL-002",
        caught_by=frozenset(
            {
                Invariant.ACKNOWLEDGED_DURABLE,
                Invariant.LEADER_COMPLETE,
                Invariant.LINEARIZABLE_LOG,
                Invariant.LOG_MATCHING,
            }
        ),
    ),
    MutantRecord(
        mutant=Mutant.ACCEPT_OLDER_LEADER_EPOCH,
        rule="A command is obeyed whatever its leader epoch is.",
        requirement="CMD-002",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
    ),
    MutantRecord(
        mutant=Mutant.LEADER_IGNORES_COMMAND,
        rule="A leader ignores a command that says again that it leads.",
        requirement="CMD-003",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER}),
    ),
    MutantRecord(
        mutant=Mutant.HIGH_WATERMARK_ON_FETCH_ONLY,
        rule="The high watermark moves only while a follower's fetch is answered.",
        requirement="REPL-009",
        caught_by=frozenset({Liveness.EVENTUALLY_ACKED_OR_FAILED}),
        seed=31,
    ),
    MutantRecord(
        mutant=Mutant.END_OFFSET_ALONE,
        rule="A follower truncates to the leader's offset, and does not look at the epoch.",
        requirement="CMD-005",
        caught_by=frozenset({Liveness.EVENTUALLY_TRUNCATED}),
        seed=168,
    ),
    MutantRecord(
        mutant=Mutant.REFRESH_WITHOUT_VERSION,
        rule="A leader takes the ISR of any command that names it, however old.",
        requirement="CMD-002",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
        shows="QuorumSuperset",
    ),
    MutantRecord(
        mutant=Mutant.LEADER_MAY_LEAVE_ISR,
        rule="A leader that finds itself lagging leaves the ISR.",
        requirement="ISR-006",
        caught_by=frozenset({Invariant.LEADER_IN_ISR}),
    ),
    MutantRecord(
        mutant=Mutant.EXPAND_LAGGARDS,
        rule="A replica joins the ISR when it is behind all members, as V3's test says.",
        requirement="ISR-002",
        caught_by=frozenset(
            {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LEADER_COMPLETE, Invariant.LINEARIZABLE_LOG}
        ),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.EXPAND_BELOW_EPOCH_START,
        rule="A replica joins the ISR at the high watermark, though the epoch began above.",
        requirement="ISR-002",
        caught_by=frozenset({Invariant.LEADER_COMPLETE}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.COMMIT_WITH_OLD_ISR,
        rule="A commit does not wait for a member whose joining is undecided.",
        requirement="ISR-003",
        caught_by=frozenset({Invariant.LEADER_COMPLETE}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.FETCH_WITHOUT_EPOCH,
        rule="A leader serves followers of any leader epoch.",
        requirement="REPL-006",
        caught_by=frozenset({Invariant.LEADER_COMPLETE}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.UNBOUNDED_HIGH_WATERMARK,
        rule="A follower takes its leader's high watermark although its log is shorter.",
        requirement="REPL-003",
        caught_by=frozenset({Invariant.LOG_MATCHING}),
        shows="HighWatermarkInLog",
    ),
    MutantRecord(
        mutant=Mutant.RECOMPUTE_HIGH_WATERMARK,
        rule="A leader counts followers that it has not heard of as empty.",
        requirement="REPL-002",
        caught_by=frozenset({Invariant.HIGH_WATERMARK_MONOTONIC}),
        shows="HighWatermarkMonotonic",
    ),
    MutantRecord(
        mutant=Mutant.REMEMBER_END_OFFSETS,
        rule="A new leader believes what followers had under an earlier epoch.",
        requirement="CMD-003",
        caught_by=frozenset({Invariant.LEADER_COMPLETE}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.TRUNCATE_ON_NEW_LEADER_ONLY,
        rule="A follower compares logs when its leader changes, not when the epoch does.",
        requirement="CMD-005",
        caught_by=frozenset({Invariant.LOG_MATCHING}),
        shows="CommittedDurable",
    ),
    MutantRecord(
        mutant=Mutant.EXPAND_OVERWRITES_SHRINK,
        rule="A change of the ISR does not wait for the one in flight; the last one is remembered.",
        requirement="ISR-003",
        caught_by=frozenset(),
        shows="QuorumSuperset",
    ),
    MutantRecord(
        mutant=Mutant.INCLUSIVE_HIGH_WATERMARK,
        rule="The high watermark is read as the offset of the last committed record.",
        requirement="REPL-002",
        caught_by=frozenset({Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}),
    ),
    MutantRecord(
        mutant=Mutant.COMMANDS_WITHOUT_EPOCHS,
        rule="A command is obeyed whatever its controller epoch and its leader epoch are.",
        requirement="CMD-002",
        caught_by=frozenset({Invariant.STALE_CONTROLLER_HARMLESS}),
    ),
    MutantRecord(
        mutant=Mutant.TRUNCATE_ONCE,
        rule="A follower truncates after one question about the leader's log, and asks no more.",
        requirement="CMD-005",
        caught_by=frozenset(),
        shows="FollowersMatchLeader",
    ),
    MutantRecord(
        mutant=Mutant.REFUSE_ABOVE_HIGH_WATERMARK,
        rule="A leader whose high watermark lags refuses offsets that a reader has reached.",
        requirement="CLI-002",
        caught_by=frozenset({Invariant.LINEARIZABLE_LOG}),
        seed=279,
    ),
    MutantRecord(
        mutant=Mutant.GO_ON_WITHOUT_LOG,
        rule="A replica goes on when its log fails, and claims what it could not write.",
        requirement="START-006",
        caught_by=frozenset(
            {
                Invariant.ACKNOWLEDGED_DURABLE,
                Invariant.LEADER_COMPLETE,
                Invariant.LINEARIZABLE_LOG,
                Invariant.ONE_COMMITTER_PER_EPOCH,
            }
        ),
    ),
    MutantRecord(
        mutant=Mutant.INIT_DELETES_BY_OMISSION,
        rule="Every INIT deletes what it does not name, however late it is.",
        requirement="CMD-007",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER}),
        shows="EventuallyLeader",
    ),
    MutantRecord(
        mutant=Mutant.INIT_OMITS_NEWER_TOPICS,
        rule="An INIT deletes also what is newer than the reading that it rests on.",
        requirement="CMD-007",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER}),
        shows="EventuallyLeader",
    ),
    MutantRecord(
        mutant=Mutant.ACKNOWLEDGE_ON_STEP_DOWN,
        rule="Who leads no more answers waiting produces as if they were committed.",
        requirement="CMD-004",
        caught_by=frozenset({Invariant.ACKNOWLEDGED_DURABLE}),
        shows="AcknowledgedDurable",
    ),
    MutantRecord(
        mutant=Mutant.REFUSE_UNKNOWN_PARTITION,
        rule="A broker obeys no command about a partition that it does not have.",
        requirement="CMD-006",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER}),
        shows="EventuallyLeader",
    ),
    MutantRecord(
        mutant=Mutant.REFUSE_TOGETHER,
        rule="One partition of a request that is refused spoils the others.",
        requirement="CMD-009",
        caught_by=frozenset({Liveness.EVENTUALLY_LEADER}),
        shows="EventuallyLeader",
    ),
    MutantRecord(
        mutant=Mutant.FOLLOWER_IGNORES_HIGH_WATERMARK,
        rule="A follower does not take the high watermark of its leader.",
        requirement="REPL-001",
        caught_by=frozenset({Liveness.EVENTUALLY_CONVERGED}),
        shows="EventuallyConverged",
    ),
    MutantRecord(
        mutant=Mutant.SHRINK_NOBODY,
        rule="A leader never drops a member that lags.",
        requirement="ISR-001",
        caught_by=frozenset({Liveness.EVENTUALLY_ISR_FULL}),
        shows="EventuallyIsrFull",
    ),
    MutantRecord(
        mutant=Mutant.SHRINK_ON_FETCH_ONLY,
        rule="A leader looks who lags only while a follower fetches.",
        requirement="ISR-005",
        caught_by=frozenset({Liveness.EVENTUALLY_ACKED_OR_FAILED}),
        shows="EventuallyAckedOrFailed",
    ),
)
