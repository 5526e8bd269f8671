"""(7) The `artifacts` domain: code hands out a file or a picture, which is in the result.

Handing out is a power: whoever gets the result gets the content. So it is granted, decided and
recorded like every call. `plt.show()` of a granted matplotlib uses it, too.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.artifacts import (
    MAX_MEDIA_TYPE_CHARACTERS,
    MAX_NAME_BYTES,
    Artifact,
    guess_media_type,
    is_media_type,
    name_problem,
)
from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.registry import CapabilityRegistry

# Content of this size is hashed where the call is; more would keep the host's event loop busy.
_SMALL_BYTES = 64 * 1024

Name = Annotated[
    str, Field(max_length=MAX_NAME_BYTES, description="such as `plot.png`; no folders")
]
MediaType = Annotated[str, Field(max_length=MAX_MEDIA_TYPE_CHARACTERS)]


class BytesObject(TypedDict):
    """Bytes where a text is accepted, too: code passes plain `bytes`, JSON this object."""

    base64: bytes


class Saved(TypedDict):
    """What was handed out."""

    name: str
    media_type: str
    size: int
    sha256: str


async def save(
    context: CallContext,
    name: Name,
    content: str | BytesObject,
    media_type: MediaType | None = None,
) -> Saved:
    """Hand out a file: who ran the code gets it. The name gives the media type by default."""
    problem = name_problem(name)
    if problem is not None:
        raise ProviderError(f"the name of an artifact {problem}")
    if media_type is not None and not is_media_type(media_type):
        raise ProviderError("`media_type` must be like `image/png`, without parameters")
    given = content if isinstance(content, str) else content["base64"]
    kind = media_type or guess_media_type(name, given)
    if len(given) <= _SMALL_BYTES:
        artifact = _make(name, kind, given)
    else:
        artifact = await context.run_in_thread(_make, name, kind, given)
    context.add_artifact(artifact)
    return {
        "name": artifact.name,
        "media_type": artifact.media_type,
        "size": artifact.size,
        "sha256": artifact.sha256,
    }


def _make(name: str, media_type: str, given: str | bytes) -> Artifact:
    content = given.encode("utf-8", "replace") if isinstance(given, str) else given
    return Artifact(name=name, media_type=media_type, content=content)


def register_artifacts(registry: CapabilityRegistry) -> None:
    """Declare the domain `artifacts` and its one capability."""
    registry.domain(
        "artifacts",
        scope=None,
        title="Artifacts",
        description="Files and pictures that the code hands out with its result.",
    )
    registry.capability(
        "artifacts.save",
        title="Hand out a file",
        shown=("name", "media_type"),
        tags=frozenset({"changes"}),
    )(save)
