"""The shapes of answers, by the names under which the description lists them.

They say what a client may rely on: names that are always there, and their types. Answers may have
more names than that.
"""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer"}
TRUTH: Final[Schema] = {"type": "boolean"}
OBJECT: Final[Schema] = {"type": "object"}
MOMENT: Final[Schema] = {"type": "string", "format": "date-time"}
MAYBE_TEXT: Final[Schema] = {"type": ["string", "null"]}
MAYBE_OBJECT: Final[Schema] = {"type": ["object", "null"]}
TEXTS: Final[Schema] = {"type": "array", "items": TEXT}
OBJECTS: Final[Schema] = {"type": "array", "items": OBJECT}
_ID: Final[Schema] = {"type": "string", "format": "uuid"}


def shape(optional: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """An object with these names; those of `optional` may be missing."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties}


def named(name: str) -> Schema:
    """A reference to a shape of `SHAPES`."""
    assert name in SHAPES
    return {"$ref": f"#/components/schemas/{name}"}


def page_of(name: str) -> Schema:
    """A page of a list."""
    return shape(items={"type": "array", "items": named(name)}, next_cursor=MAYBE_TEXT)


SHAPES: Final[dict[str, Schema]] = {
    "Problem": shape(
        ("path", "problems"),
        type=TEXT,
        title=TEXT,
        status=WHOLE,
        detail=TEXT,
        code=TEXT,
        path=TEXT,
        problems=OBJECTS,
    ),
    "Status": shape(status={"const": "ok"}),
    "CapabilityItem": shape(id=TEXT, name=TEXT, description=TEXT, status=TEXT),
    "Capability": shape(
        id=TEXT, name=TEXT, description=TEXT, status=TEXT, tools=OBJECTS, config_schema=OBJECT
    ),
    "Agent": shape(
        id=_ID,
        name=TEXT,
        description=TEXT,
        system_prompt=TEXT,
        status=TEXT,
        capabilities={"anyOf": [TEXTS, {"type": "object", "additionalProperties": OBJECT}]},
        policy=MAYBE_OBJECT,
        created_by=TEXT,
        revision={"type": "integer", "minimum": 1},
        created_at=MOMENT,
        updated_at=MOMENT,
    ),
    "EffectiveAgent": shape(
        id=_ID,
        system_prompt=TEXT,
        tools=OBJECTS,
        withheld=TEXTS,
        policy=OBJECT,
        stubs=TEXT,
        warnings=TEXTS,
    ),
    "Execution": shape(
        id={"type": "string", "pattern": "^[0-9a-f]{32}$"},
        principal=TEXT,
        agent_id={"anyOf": [_ID, {"type": "null"}]},
        session=MAYBE_TEXT,
        status={"enum": ["queued", "running", "finished", "failed", "cancelled", "lost"]},
        source_sha256=TEXT,
        started=TRUTH,
        created_at=MOMENT,
        ended_at={"anyOf": [MOMENT, {"type": "null"}]},
        error=MAYBE_OBJECT,
        result=MAYBE_OBJECT,
    ),
    "CallResult": shape(ok=TRUTH, error=MAYBE_OBJECT),
    "PlanReview": shape(valid=TRUTH, cost={"type": ["number", "null"]}, problems=OBJECTS),
    "ToolCard": shape(
        name=TEXT,
        version=TEXT,
        description=TEXT,
        agent_type=TEXT,
        input_schema=OBJECT,
        output_schema=OBJECT,
        checksum=TEXT,
        signature=TEXT,
        key_id=TEXT,
        alg=TEXT,
    ),
    "CheckedCard": shape(
        name=TEXT, version=TEXT, problem=MAYBE_TEXT, created_at=MOMENT, updated_at=MOMENT
    ),
    "Approval": shape(
        id=TEXT,
        execution_id=TEXT,
        principal=TEXT,
        capability=TEXT,
        shown=OBJECT,
        hidden=TEXTS,
        asked_at=MOMENT,
        expires_at=MOMENT,
    ),
    "ApprovalAnswer": shape(id=TEXT, allowed=TRUTH),
    "AuditRecord": shape(kind=TEXT, seq=WHOLE),
    "AuditReport": shape(status=TEXT),
    "Policy": shape(id=TEXT, sha256=TEXT, terms_sha256=TEXT, can_be_replaced=TRUTH, policy=OBJECT),
    "PolicyReview": shape(("problem", "granted"), valid=TRUTH, problem=OBJECT, granted=TEXTS),
    "PolicyFindings": shape(policy=TEXT, findings=OBJECTS),
    "Session": shape(
        id=_ID, principal=TEXT, name=TEXT, revision=WHOLE, created_at=MOMENT, updated_at=MOMENT
    ),
    "FileWritten": shape(version=WHOLE, created=TRUTH),
}
