"""The source of one execution as the host sees it: text with a name and a digest, never parsed.

Evidence comes first: a source that cannot be sent to a worker has a digest anyway, and is refused
after the start is recorded.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

from caps.protocol.messages import MAX_SOURCE_BYTES

_MAX_FILENAME_CHARACTERS = 256


class SourceText(msgspec.Struct, frozen=True):
    """The code to run."""

    text: str
    filename: str
    """Its name in tracebacks."""
    sha256: str
    refusal: str | None
    """Why it cannot be sent to a worker, if so; it counts as an error of the code."""

    @classmethod
    def of(cls, text: str, filename: str) -> SourceText:
        refusal = None
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            data = text.encode("utf-8", "surrogatepass")
            refusal = (
                f"the source is not valid text: half of a surrogate pair at character {error.start}"
            )
        if refusal is None and len(data) > MAX_SOURCE_BYTES:
            refusal = f"the source takes {len(data)} bytes, over the limit of {MAX_SOURCE_BYTES}"
        # The name of a real file may be neither valid nor short.
        if not filename.isascii():
            filename = filename.encode("utf-8", "replace").decode()
        filename = filename[:_MAX_FILENAME_CHARACTERS] or "<agent>"
        return cls(text, filename, sha256(data).hexdigest(), refusal)
