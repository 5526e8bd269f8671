"""What can go wrong with a run. The tree is in `caps.protocol.errors`."""

from __future__ import annotations

from caps.protocol.errors import CallerFault, HostFault


class ThreadUnknownError(CallerFault):
    """The principal has no such thread."""

    code = "thread_unknown"


class EngineError(HostFault):
    """The model could not be asked, or its answer could not be used.

    The message is fit for callers; the log of the host has the cause.
    """

    code = "engine_error"
