"""(7) Artifacts: files and pictures that code hands out, kept for the result of its execution.

A provider hands one out with `context.add_artifact(...)`, so handing out is a call like any other:
decided, recorded, limited. The store of an execution is bounded by `limits.artifacts` and
`limits.artifact_bytes`. The audit log gets the name, the media type, the size and the digest of an
artifact, never its bytes.

The name is text of untrusted code. It is one component of a path, printable, and as long as a file
system allows; what writes it to a disk still has to see that it overwrites nothing.
"""

from __future__ import annotations

import functools
import hashlib
import mimetypes
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from caps.protocol.errors import LimitExceededError
from caps.security.audit.model.records import ArtifactRecord
from caps.security.policy import Limits
from caps.security.reasons import ReasonCode
from caps.worker.host.supervisor.byte_budget import current_share

MAX_NAME_BYTES: Final = 200
MAX_MEDIA_TYPE_CHARACTERS: Final = 129
# The two names of RFC 6838, without parameters. Each part is matched in one way only.
_PART: Final = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}"
_MEDIA_TYPE: Final = re.compile(f"{_PART}/{_PART}")


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """One file or picture that code handed out. Raises ValueError for a bad name or media type."""

    name: str
    """Chosen by the code: one component of a path, not one to trust."""
    media_type: str
    content: bytes
    sha256: str = ""

    def __post_init__(self) -> None:
        problem = name_problem(self.name)
        if problem is not None:
            raise ValueError(f"the name of an artifact {problem}")
        if not is_media_type(self.media_type):
            raise ValueError("the media type of an artifact must be like `image/png`")
        if not self.sha256:
            digest = hashlib.sha256(self.content).hexdigest()
            msgspec.structs.force_setattr(self, "sha256", digest)

    def __repr__(self) -> str:
        return f"Artifact(name={self.name!r}, media_type={self.media_type!r}, size={self.size})"

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.content)

    @property
    def record(self) -> ArtifactRecord:
        """What the audit log has of it."""
        return ArtifactRecord(
            name=self.name, media_type=self.media_type, size=self.size, sha256=self.sha256
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with the content as bytes."""
        return {**msgspec.structs.asdict(self.record), "content": self.content}


def name_problem(name: str) -> str | None:
    """Why `name` cannot be that of an artifact; None if it can."""
    if not name.isprintable() or "/" in name or "\\" in name:
        return "must be printable, without slashes"
    if not name or name != name.strip() or name.startswith("."):
        return "must not be empty, begin with a dot, or begin or end with a space"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"has more than {MAX_NAME_BYTES} bytes"
    return None


def is_media_type(text: str) -> bool:
    """Whether `text` is a media type without parameters, such as `image/png`."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def guess_media_type(name: str, content: bytes | str) -> str:
    """By the ending of the name; for an unknown one by whether the content is text."""
    found, encoding = _known_types().guess_type(f"/{name}")
    if found is not None and encoding is None:
        return found
    return "text/plain" if isinstance(content, str) else "application/octet-stream"


@functools.cache
def _known_types() -> mimetypes.MimeTypes:
    """The types that Python knows by itself, without those in files of the host."""
    return mimetypes.MimeTypes()


class ArtifactStore:
    """The artifacts of one execution, in the order in which they were handed out."""

    def __init__(
        self,
        limits: Limits,
        policy_id: str,
        on_artifact: Callable[[Artifact], None] | None = None,
        outer: ArtifactStore | None = None,
    ) -> None:
        """`on_artifact` is called with each artifact. `outer` is that of the execution that this
        one is nested in: what is handed out here is handed out there, within its limits."""
        self._limits = limits
        self._policy_id = policy_id
        self._on_artifact = on_artifact
        self._outer = outer
        self._bytes = 0
        self._by_request: dict[str, list[ArtifactRecord]] = {}
        self.artifacts: list[Artifact] = []

    def add(self, capability: str, request_id: str | None, artifact: Artifact) -> None:
        """Keep `artifact`, which this call hands out; None: a call of a nested execution.

        Raises LimitExceededError.
        """
        limits = self._limits
        if len(self.artifacts) >= limits.artifacts:
            raise self._over(capability, "artifacts", limits.artifacts)
        if self._bytes + artifact.size > limits.artifact_bytes:
            raise self._over(capability, "artifact_bytes", limits.artifact_bytes)
        if self._outer is not None:
            self._outer.add(capability, None, artifact)
        else:
            current_share().keep(artifact.size)
        self._bytes += artifact.size
        self.artifacts.append(artifact)
        if request_id is not None:
            self._by_request.setdefault(request_id, []).append(artifact.record)
        if self._on_artifact is not None:
            self._on_artifact(artifact)

    def records_of(self, request_id: str) -> list[ArtifactRecord]:
        """What the record of the outcome of this call has of the artifacts that it handed out."""
        return self._by_request.get(request_id, [])

    def _over(self, capability: str, limit: str, allowed: int) -> LimitExceededError:
        return LimitExceededError(
            f"`{capability}` is over `limits.{limit}` of policy `{self._policy_id}`, {allowed}",
            capability=capability,
            reason=ReasonCode.ARTIFACTS_EXCEEDED.value,
            policy_id=self._policy_id,
            limit=limit,
            allowed=allowed,
        )
