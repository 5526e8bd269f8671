"""What can be wrong with a tool card or a key. The tree is in `caps.protocol.errors`."""

from __future__ import annotations

from caps.protocol.errors import CallerFault


class ToolCardError(CallerFault):
    """A card or a key cannot be used: malformed, stale, unsigned, or not there."""

    code = "tool_card_invalid"


class CardConflictError(ToolCardError):
    """Another card has this name and version. A published version never changes."""

    code = "tool_card_conflict"


class CardChecksumError(ToolCardError):
    """The checksum or the signature that came with a card does not belong to its content."""

    code = "checksum_mismatch"


class CardUnknownError(ToolCardError):
    """There is no such card."""

    code = "tool_card_unknown"
