"""Facts, as the journal keeps them.

An input is something that happened to chaperon: a line, an exit, a person's request, a timer. A decision is the core's
response. State is a fold over both in the order of the journal, so a decision stays made, even if a newer version would
decide otherwise.

Each kind is one frozen dataclass; `kind` is its name in the journal and never changes its meaning.
"""

from supervisor.protocol.kinds.daemon import (
    AgentForgotten,
    DaemonStarted,
    DaemonStopped,
    FaultSeen,
    HostReached,
    HostRefused,
    PolicyChanged,
    RecordDamaged,
    RecordForgotten,
    WorkTakenOver,
)
from supervisor.protocol.kinds.decisions import (
    ApprovalAsked,
    CheckpointAwaited,
    ContextRestated,
    DiscoveryForgotten,
    DiscoveryNoted,
    DiscoveryTold,
    FrameRejected,
    IncidentOpened,
    InterventionChosen,
    InterventionJudged,
    IssueSeen,
    LimitsEased,
    PatternAdjusted,
    PersonNeeded,
    RecoveryChosen,
    ReviewArrived,
    ReviewDeferred,
    ReviewMade,
    RungReached,
    StateChanged,
)
from supervisor.protocol.kinds.merges import (
    CheckMade,
    MergeChanged,
)
from supervisor.protocol.kinds.orders import (
    AgentRemoved,
    AutopilotBegan,
    AutopilotEnded,
    DrainChanged,
    OrderCarriedOut,
    OrderGiven,
)
from supervisor.protocol.kinds.projects import (
    ProjectCheckpointForgotten,
    ProjectCheckpointMade,
    ProjectRollbackChanged,
    TasksWentBack,
)
from supervisor.protocol.kinds.requests import (
    AllowanceGiven,
    AllowanceRevoked,
    ApprovalGiven,
    CheckpointRequested,
    HostDenied,
    OutcomeGiven,
    PauseRequested,
    RecoveryTaken,
    RedirectRequested,
    ResumeRequested,
    RollbackRequested,
    SayRequested,
    StopRequested,
    TrustDecided,
)
from supervisor.protocol.kinds.runs import (
    AccountChanged,
    AftermathSeen,
    AgentAdopted,
    AgentAttached,
    AgentExited,
    AgentLaunched,
    AgentVanished,
    CredentialTaken,
    ErrorLineReceived,
    InputAccepted,
    JudgeAnswered,
    LaunchFailed,
    LinePassedOver,
    LineReceived,
    ResourcesSeen,
    SettingsFound,
    SettingsSwapped,
    TaskSubmitted,
    TimerFired,
    TreeEnded,
    TreeFrozen,
)
from supervisor.protocol.kinds.stamp import Event, EventStamp
from supervisor.protocol.kinds.tasks import (
    TaskClaimed,
    TaskEdited,
    TaskMoved,
    TaskReordered,
    TasksAdded,
)
from supervisor.protocol.kinds.workspaces import (
    CaptureFailed,
    ChangesSeen,
    CheckpointMade,
    CheckpointRestored,
    GroundsShaken,
    RestoreFailed,
    WorkspaceClosed,
)

__all__ = [
    "AccountChanged",
    "AftermathSeen",
    "AgentAdopted",
    "AgentAttached",
    "AgentExited",
    "AgentForgotten",
    "AgentLaunched",
    "AgentRemoved",
    "AgentRequest",
    "AgentVanished",
    "AllowanceGiven",
    "AllowanceRevoked",
    "AnyEvent",
    "ApprovalAsked",
    "ApprovalGiven",
    "AutopilotBegan",
    "AutopilotEnded",
    "CaptureFailed",
    "ChangesSeen",
    "CheckMade",
    "CheckpointAwaited",
    "CheckpointMade",
    "CheckpointRequested",
    "CheckpointRestored",
    "ContextRestated",
    "CredentialTaken",
    "DaemonStarted",
    "DaemonStopped",
    "DiscoveryForgotten",
    "DiscoveryNoted",
    "DiscoveryTold",
    "DrainChanged",
    "ErrorLineReceived",
    "Event",
    "EventStamp",
    "FaultSeen",
    "FrameRejected",
    "GroundsShaken",
    "HostDenied",
    "HostReached",
    "HostRefused",
    "IncidentOpened",
    "InputAccepted",
    "InterventionChosen",
    "InterventionJudged",
    "IssueSeen",
    "JudgeAnswered",
    "LaunchFailed",
    "LimitsEased",
    "LinePassedOver",
    "LineReceived",
    "MergeChanged",
    "OrderCarriedOut",
    "OrderGiven",
    "OutcomeGiven",
    "PatternAdjusted",
    "PauseRequested",
    "PersonNeeded",
    "PolicyChanged",
    "ProjectCheckpointForgotten",
    "ProjectCheckpointMade",
    "ProjectRollbackChanged",
    "RecordDamaged",
    "RecordForgotten",
    "RecoveryChosen",
    "RecoveryTaken",
    "RedirectRequested",
    "ResourcesSeen",
    "RestoreFailed",
    "ResumeRequested",
    "ReviewArrived",
    "ReviewDeferred",
    "ReviewMade",
    "RollbackRequested",
    "RungReached",
    "SayRequested",
    "SettingsFound",
    "SettingsSwapped",
    "StateChanged",
    "StopRequested",
    "TaskClaimed",
    "TaskEdited",
    "TaskMoved",
    "TaskReordered",
    "TaskSubmitted",
    "TasksAdded",
    "TasksWentBack",
    "TimerFired",
    "TreeEnded",
    "TreeFrozen",
    "TrustDecided",
    "WorkTakenOver",
    "WorkspaceClosed",
]

AnyEvent = (
    DaemonStarted
    | PolicyChanged
    | RecordDamaged
    | HostReached
    | HostRefused
    | AgentForgotten
    | RecordForgotten
    | DaemonStopped
    | WorkTakenOver
    | FaultSeen
    | TaskSubmitted
    | SettingsFound
    | SettingsSwapped
    | AgentLaunched
    | AccountChanged
    | CredentialTaken
    | AgentAttached
    | LaunchFailed
    | LineReceived
    | LinePassedOver
    | ErrorLineReceived
    | InputAccepted
    | AgentExited
    | AgentVanished
    | AgentAdopted
    | TreeFrozen
    | TreeEnded
    | ResourcesSeen
    | JudgeAnswered
    | TimerFired
    | CheckpointRestored
    | RestoreFailed
    | AftermathSeen
    | CheckpointMade
    | CaptureFailed
    | ChangesSeen
    | GroundsShaken
    | WorkspaceClosed
    | SayRequested
    | RedirectRequested
    | PauseRequested
    | ResumeRequested
    | StopRequested
    | AgentRemoved
    | OrderGiven
    | OrderCarriedOut
    | AutopilotBegan
    | AutopilotEnded
    | DrainChanged
    | OutcomeGiven
    | CheckpointRequested
    | RollbackRequested
    | RecoveryTaken
    | ApprovalGiven
    | AllowanceGiven
    | AllowanceRevoked
    | HostDenied
    | TrustDecided
    | DiscoveryNoted
    | DiscoveryTold
    | DiscoveryForgotten
    | ReviewMade
    | IssueSeen
    | InterventionChosen
    | InterventionJudged
    | PersonNeeded
    | RecoveryChosen
    | LimitsEased
    | ContextRestated
    | ApprovalAsked
    | ReviewDeferred
    | ReviewArrived
    | CheckpointAwaited
    | StateChanged
    | RungReached
    | IncidentOpened
    | FrameRejected
    | PatternAdjusted
    | TasksAdded
    | TaskEdited
    | TaskReordered
    | TaskClaimed
    | TaskMoved
    | CheckMade
    | MergeChanged
    | ProjectCheckpointMade
    | ProjectCheckpointForgotten
    | ProjectRollbackChanged
    | TasksWentBack
)
"""Every event there is, for type checkers and for generated documentation."""

AgentRequest = (
    SayRequested
    | RedirectRequested
    | PauseRequested
    | ResumeRequested
    | StopRequested
    | OutcomeGiven
    | CheckpointRequested
    | RollbackRequested
    | ApprovalGiven
    | AllowanceGiven
    | AllowanceRevoked
    | HostDenied
)
"""Requests of a person about one agent."""
