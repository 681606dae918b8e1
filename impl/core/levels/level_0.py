"""Level 0, `draft_v3`: V3 as written, without a controller epoch, truncating to the high watermark.

Source: `protocol/`, V3 of the design, with the repairs that the specs name (`spec/hazards.toml`).
"""

from fencepost.impl.core.rules import (
    commands,
    fetches,
    isr,
    producers,
    produces,
    replica,
    replication,
    startup,
    tables,
)
from fencepost.impl.core.rules.controller import (
    change_order,
    controller_election,
    discovery,
    leadership,
    partition_rules,
    partitions,
    publication,
    reassignment,
)
from fencepost.impl.core.rules.rules import Rules

RULES = Rules(
    commands=tables.COMMANDS,
    partitions=tables.PARTITIONS,
    may_write=tables.MAY_WRITE,
    # Commands
    is_stale_controller=commands.trust_any_controller,
    deposes_controller=commands.trust_any_controller,
    adopt_controller_epoch=commands.adopt_controller_epoch,
    is_newer=commands.is_newer,
    skips_epochs=commands.skips_epochs,
    become_leader=replica.become_leader,
    become_follower=replica.become_follower,
    is_first_init=commands.is_first_init,
    is_omitted=commands.is_omitted,
    # Incarnations
    is_over=commands.is_over,
    is_overtaken=commands.is_overtaken,
    is_of_other_incarnation=commands.is_of_other_incarnation,
    begin_incarnation=commands.begin_incarnation,
    is_newer_than_stop=commands.is_newer_than_stop,
    # Starts and failed logs
    recovered_high_watermark=startup.recovered_high_watermark,
    replicas_in=startup.replicas_in,
    is_kept=startup.is_kept,
    floor_of=startup.floor_of,
    is_sound=replica.is_sound,
    go_offline=replica.go_offline,
    # Followers
    truncate_follower=fetches.truncate_to_committed,
    fetch_epoch=fetches.no_fetch_epoch,
    is_current_fetch=fetches.is_from_leader,
    asks_again=fetches.asks_again,
    obey_shorter_leader=fetches.cut_to_leader,
    compare_logs=replica.compare_logs,
    follower_append=replication.follower_append,
    # Leaders
    fetch_error=fetches.fetch_error,
    serve_fetch=replication.serve_fetch,
    committed_end=fetches.committed_end,
    advance_high_watermark=replication.advance_high_watermark,
    answers_at_once=produces.answers_at_once,
    known_of_producer=produces.known_of_producer,
    sequence_error=producers.sequence_error,
    produce_error=produces.produce_error,
    batch_records=producers.batch_records,
    acknowledged_offset=produces.acknowledged_offset,
    produce_ends=produces.PRODUCE_ENDS,
    # The ISR
    shrink_isr=isr.shrink_isr,
    expand_isr=isr.expand_isr,
    lags_at_ms=isr.lags_at_ms,
    isr_operations=isr.isr_operations,
    fence_leader=isr.fence_leader,
    # Controller election
    watched=controller_election.WATCHED,
    holds_controller=controller_election.holds_controller,
    election_step=controller_election.election_step,
    registration_znode=controller_election.registration_znode,
    candidate_znode=controller_election.candidate_znode,
    win_controller=controller_election.win_controller,
    election_operations=controller_election.take_znode,
    elected_of=controller_election.elected_without_epoch,
    accepts_election=controller_election.accepts_election,
    elected_by=controller_election.elected_by_znode,
    epoch_stands=controller_election.epoch_stands,
    learn_epoch=controller_election.learn_no_epoch,
    controller_fence=controller_election.no_fence,
    # Brokers and topics that come and go
    reads_broker_change=discovery.reads_broker_change,
    changed_brokers=discovery.changed_brokers,
    topics_to_learn=discovery.topics_to_learn,
    told_at_fail_over=discovery.told_at_fail_over,
    # Leader elections
    is_uninitialised=leadership.is_uninitialised,
    init_leader=leadership.init_leader,
    elect_leader=leadership.elect_leader,
    needs_newer_brokers=leadership.needs_newer_brokers,
    # Their writes
    multi_limits=publication.LIMITS,
    after_reading=publication.after_reading,
    first_state_operations=publication.first_state_operations,
    published_as=publication.published_as,
    sort_out_refusal=publication.sort_out_refusal,
    # Partition changes
    is_look_due=change_order.is_look_due,
    changing_topics=change_order.changing_topics,
    followed_request=change_order.followed_request,
    add_partitions=partitions.add_partitions,
    advance_reassignment=reassignment.advance_reassignment,
    stopped_before=change_order.stopped_before,
    stop_stands=change_order.stop_stands,
    written_instead=change_order.written_instead,
    # Topics and partitions for clients
    routed_leader=partition_rules.routed_leader,
    existing_topic=partition_rules.existing_topic,
    missing_topic=partition_rules.missing_topic,
    refuse_topic=partition_rules.refuse_topic,
    refuse_election=partition_rules.refuse_election,
    refuse_reassignment=partition_rules.refuse_reassignment,
    refuse_creation=partition_rules.refuse_creation,
)
