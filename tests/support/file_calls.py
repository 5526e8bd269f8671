"""Calls of the `files` provider, as the broker would make them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caps.capabilities.provider import CallContext, Scope
from caps.providers.files.scope import FilesScope


def context_of(capability: str, scope: Scope | None) -> CallContext:
    return CallContext(
        execution_id="e1",
        request_id="r1",
        capability=capability,
        principal="tester",
        agent=None,
        session=None,
        scope=scope,
        timeout_ms=1000,
    )


def file_call(capability: str, *allowlist: Path | str, **rest: Any) -> CallContext:
    """A call whose scope has these directories, and `rest` as its other fields."""
    entries = [str(entry) for entry in allowlist]
    return context_of(capability, FilesScope.model_validate({"allowlist": entries, **rest}))
