"""What the service answers, as frozen values. Fields that a newer service adds are ignored."""

from caps.client.values.agents import Agent, Capability, EffectiveAgent, Tool
from caps.client.values.executions import (
    Artifact,
    Call,
    CallFailure,
    EndedWithout,
    Event,
    Execution,
    Failure,
    PlanCheck,
    PlanResult,
    PlanStep,
    Result,
    Usage,
)
from caps.client.values.oversight import (
    Approval,
    ApprovalAnswer,
    AuditReport,
    PolicyInForce,
    ToolCard,
)
from caps.client.values.pages import Page
from caps.client.values.sessions import Directory, DirectoryEntry, FileWritten, Session, SessionFile

__all__ = [
    "Agent",
    "Approval",
    "ApprovalAnswer",
    "Artifact",
    "AuditReport",
    "Call",
    "CallFailure",
    "Capability",
    "Directory",
    "DirectoryEntry",
    "EffectiveAgent",
    "EndedWithout",
    "Event",
    "Execution",
    "Failure",
    "FileWritten",
    "Page",
    "PlanCheck",
    "PlanResult",
    "PlanStep",
    "PolicyInForce",
    "Result",
    "Session",
    "SessionFile",
    "Tool",
    "ToolCard",
    "Usage",
]
