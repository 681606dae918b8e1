"""Which injector does which kind of fault in the simulated world."""

from collections.abc import Mapping
from typing import Any, cast

from fencepost.fault_injection.faults import (
    admin_faults as admin_kinds,
    clock_faults as clock_kinds,
    disk_faults as disk_kinds,
    load_faults as load_kinds,
    network_faults as network_kinds,
    process_faults as process_kinds,
    request_faults as request_kinds,
    zookeeper_faults as zookeeper_kinds,
)
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.injectors.admin import (
    ChangeInjector,
    PartitionAdditionInjector,
    PreferredElectionInjector,
    ReassignmentInjector,
    TopicRecreationInjector,
)
from fencepost.fault_injection.injectors.injector import Injector
from fencepost.impl.sim.injectors import (
    clocks,
    disks,
    ensemble,
    links,
    load,
    processes,
    requests,
    rolling,
    sessions,
    znodes,
    zookeeper_links,
)
from fencepost.impl.sim.injectors.admin import SimulatedAdmin
from fencepost.impl.sim.injectors.injector import FaultedWorld, SimulatedInjector
from fencepost.impl.sim.world.process import Process
from fencepost.impl.trace_lines import Line

INJECTORS: Mapping[type[Fault], type[SimulatedInjector[Any] | ChangeInjector[Any, Line]]] = {
    process_kinds.PauseBroker: processes.SimulatedPause,
    process_kinds.KillBroker: processes.SimulatedKill,
    process_kinds.StutterBroker: processes.SimulatedPauseCycle,
    process_kinds.CrashAt: processes.SimulatedCrashPoint,
    process_kinds.StopBroker: processes.SimulatedStop,
    process_kinds.BounceBroker: processes.SimulatedBounce,
    process_kinds.RollBrokers: rolling.SimulatedRollingRestart,
    process_kinds.StarveBroker: processes.SimulatedPauseCycle,
    zookeeper_kinds.ExpireSession: sessions.SimulatedSessionExpiry,
    zookeeper_kinds.CutZooKeeper: zookeeper_links.SimulatedZooKeeperCut,
    zookeeper_kinds.HurtZooKeeperLink: zookeeper_links.SimulatedZooKeeperLink,
    zookeeper_kinds.DropConnection: zookeeper_links.SimulatedConnectionDrop,
    zookeeper_kinds.DelayZooKeeper: zookeeper_links.SimulatedReplyFault,
    zookeeper_kinds.DelayWatches: zookeeper_links.SimulatedWatchDelay,
    zookeeper_kinds.LoseZooKeeperReplies: zookeeper_links.SimulatedReplyFault,
    zookeeper_kinds.FailZooKeeperRequests: zookeeper_links.SimulatedRequestFailure,
    zookeeper_kinds.FailOverZooKeeper: ensemble.SimulatedFailOver,
    zookeeper_kinds.SlowSync: ensemble.SimulatedSlowSync,
    zookeeper_kinds.RaceVersion: znodes.SimulatedVersionRace,
    request_kinds.DropRequest: requests.SimulatedRequestRule,
    request_kinds.DropResponse: requests.SimulatedRequestRule,
    request_kinds.HoldRequest: requests.SimulatedRequestRule,
    request_kinds.DuplicateRequest: requests.SimulatedRequestRule,
    request_kinds.DelayRequest: requests.SimulatedRequestRule,
    request_kinds.ReorderRequests: requests.SimulatedRequestRule,
    request_kinds.RefuseRequest: requests.SimulatedRequestRule,
    network_kinds.IsolateBroker: links.SimulatedLinkCut,
    network_kinds.PartitionBrokers: links.SimulatedLinkCut,
    network_kinds.CutOneWay: links.SimulatedDirectedFault,
    network_kinds.ReorderLink: links.SimulatedDirectedFault,
    network_kinds.BridgeBrokers: links.SimulatedLinkCut,
    network_kinds.RingOfMajorities: links.SimulatedLinkCut,
    network_kinds.SwizzleBrokers: links.SimulatedTimedCut,
    network_kinds.FlapBroker: links.SimulatedTimedCut,
    network_kinds.DelayLink: links.SimulatedDirectedFault,
    disk_kinds.LosePower: disks.SimulatedPowerLoss,
    disk_kinds.StaleCheckpoint: disks.SimulatedStaleCheckpoint,
    disk_kinds.FillDisk: disks.SimulatedDiskError,
    disk_kinds.BreakDisk: disks.SimulatedDiskError,
    disk_kinds.CorruptTail: disks.SimulatedCorruptTail,
    disk_kinds.SlowDisk: disks.SimulatedSlowDisk,
    clock_kinds.DriftClock: clocks.SimulatedClockDrift,
    clock_kinds.JumpClock: clocks.SimulatedClockJump,
    clock_kinds.StrobeClock: clocks.SimulatedClockStrobe,
    admin_kinds.KickController: znodes.SimulatedControllerKick,
    admin_kinds.ReassignPartition: ReassignmentInjector,
    admin_kinds.AddPartitions: PartitionAdditionInjector,
    admin_kinds.RecreateTopic: TopicRecreationInjector,
    admin_kinds.ElectPreferred: PreferredElectionInjector,
    load_kinds.BurstLoad: load.SimulatedBurst,
    load_kinds.CrashClient: load.SimulatedClientCrash,
}


def injector_of(fault: Fault, world: FaultedWorld, process: Process | None) -> Injector[Line]:
    """The injector of the fault; `process` is that of the one broker that it acts on."""
    found = INJECTORS[type(fault)]
    if issubclass(found, ChangeInjector):
        return cast(Injector[Line], found(fault, SimulatedAdmin(world)))
    return found(fault, world, process)
