from fencepost.fault_injection.engine.driver import (
    FaultDriver as FaultDriver,
)
from fencepost.fault_injection.engine.process_world import (
    ProcessWorld as ProcessWorld,
)
from fencepost.fault_injection.faults.admin_faults import (
    AddPartitions as AddPartitions,
    ElectPreferred as ElectPreferred,
    KickController as KickController,
    ReassignPartition as ReassignPartition,
    RecreateTopic as RecreateTopic,
)
from fencepost.fault_injection.faults.clock_faults import (
    DriftClock as DriftClock,
    JumpClock as JumpClock,
    StrobeClock as StrobeClock,
)
from fencepost.fault_injection.faults.disk_faults import (
    BreakDisk as BreakDisk,
    CorruptTail as CorruptTail,
    FillDisk as FillDisk,
    LosePower as LosePower,
    SlowDisk as SlowDisk,
    StaleCheckpoint as StaleCheckpoint,
)
from fencepost.fault_injection.faults.fault import (
    Fault as Fault,
)
from fencepost.fault_injection.faults.fault_json import (
    as_json as as_json,
    fault_from_json as fault_from_json,
)
from fencepost.fault_injection.faults.load_faults import (
    BurstLoad as BurstLoad,
    CrashClient as CrashClient,
)
from fencepost.fault_injection.faults.network_faults import (
    BridgeBrokers as BridgeBrokers,
    CutOneWay as CutOneWay,
    DelayLink as DelayLink,
    FlapBroker as FlapBroker,
    IsolateBroker as IsolateBroker,
    NarrowLink as NarrowLink,
    PartitionBrokers as PartitionBrokers,
    ReorderLink as ReorderLink,
    ResetStreams as ResetStreams,
    RingOfMajorities as RingOfMajorities,
    SwizzleBrokers as SwizzleBrokers,
)
from fencepost.fault_injection.faults.process_faults import (
    BounceBroker as BounceBroker,
    CrashAt as CrashAt,
    KillBroker as KillBroker,
    PauseBroker as PauseBroker,
    RollBrokers as RollBrokers,
    StarveBroker as StarveBroker,
    StopBroker as StopBroker,
    StutterBroker as StutterBroker,
)
from fencepost.fault_injection.faults.request_faults import (
    DelayRequest as DelayRequest,
    DropRequest as DropRequest,
    DropResponse as DropResponse,
    DuplicateRequest as DuplicateRequest,
    HoldRequest as HoldRequest,
    RefuseRequest as RefuseRequest,
    ReorderRequests as ReorderRequests,
)
from fencepost.fault_injection.faults.targets import (
    ANY_BROKER as ANY_BROKER,
    CONTROLLER as CONTROLLER,
    ClusterView as ClusterView,
    FaultError as FaultError,
    Target as Target,
    broker as broker,
    follower as follower,
    leader as leader,
    parse_target as parse_target,
)
from fencepost.fault_injection.faults.zookeeper_faults import (
    CutZooKeeper as CutZooKeeper,
    DelayWatches as DelayWatches,
    DelayZooKeeper as DelayZooKeeper,
    DropConnection as DropConnection,
    ExpireSession as ExpireSession,
    FailOverZooKeeper as FailOverZooKeeper,
    FailZooKeeperRequests as FailZooKeeperRequests,
    HurtServer as HurtServer,
    HurtZooKeeperLink as HurtZooKeeperLink,
    LoseZooKeeperReplies as LoseZooKeeperReplies,
    RaceVersion as RaceVersion,
    SlowSync as SlowSync,
)
from fencepost.fault_injection.injectors.injection import (
    FaultTarget as FaultTarget,
)
from fencepost.fault_injection.stories.story import (
    AfterAction as AfterAction,
    AfterEvent as AfterEvent,
    At as At,
    Story as Story,
    StoryAction as StoryAction,
)
from fencepost.fault_injection.stories.story_file import (
    read_story as read_story,
)

__all__: tuple[str, ...]
