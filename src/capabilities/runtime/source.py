"""The source of one execution as the host sees it: text with a name and a digest, never parsed.

Evidence comes first: what no worker could be handed has a digest all the same, and is refused after
the start is on record.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

from caps.protocol.messages import MAX_SOURCE_BYTES

_MAX_FILENAME_CHARACTERS = 256


class SourceText(msgspec.Struct, frozen=True):
    """What is run."""

    text: str
    filename: str
    """What tracebacks call it."""
    sha256: str
    refusal: str | None
    """Why no worker could be handed it, if so: it is the code that is wrong."""

    @classmethod
    def of(cls, text: str, filename: str) -> SourceText:
        refusal = None
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            data = text.encode("utf-8", "surrogatepass")
            refusal = f"the source is no text: half of a surrogate pair at character {error.start}"
        if refusal is None and len(data) > MAX_SOURCE_BYTES:
            refusal = f"the source takes {len(data)} bytes, over the limit of {MAX_SOURCE_BYTES}"
        return cls(text, _shown(filename), sha256(data).hexdigest(), refusal)


def _shown(filename: str) -> str:
    """The name of a real file need not be text, nor short."""
    if not filename.isascii():
        filename = filename.encode("utf-8", "replace").decode()
    return filename[:_MAX_FILENAME_CHARACTERS] or "<agent>"
