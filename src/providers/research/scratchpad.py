"""(7) The functions of `research`: add, list, remove, and a summary in Markdown."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import CallContext, ProviderError
from caps.providers.session_store import open_session_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from caps.store.repositories.findings import Finding
    from caps.store.repositories.sessions import StoredSession

MAX_FINDINGS: Final = 1000
MAX_SOURCES: Final = 20
DEFAULT_SECTION: Final = "General"

Section = Annotated[
    str, Field(min_length=1, max_length=200, description="the heading that it belongs under")
]


class FindingSource(TypedDict):
    """Where a finding comes from."""

    title: Annotated[str, Field(min_length=1, max_length=300)]
    url: NotRequired[Annotated[str | None, Field(max_length=2000)]]


class FindingAdded(TypedDict):
    """The number of the new finding, and how many there are now."""

    number: int
    section: str
    total: int


class FindingFound(TypedDict):
    """One finding of the scratchpad."""

    number: int
    section: str
    text: str
    sources: list[FindingSource]
    created_at: datetime


class FindingsFound(TypedDict):
    """The findings in the order in which they were added, and all sections."""

    findings: list[FindingFound]
    sections: list[str]
    count: int


class FindingRemoved(TypedDict):
    """`removed` is False if there was no finding of this number."""

    number: int
    removed: bool


class Summary(TypedDict):
    """The whole scratchpad as Markdown: a heading a section, numbered sources at the end."""

    text: str
    sections: int
    findings: int
    sources: int


async def add(
    context: CallContext,
    text: Annotated[str, Field(min_length=1, max_length=10_000, description="what was found")],
    section: Section = DEFAULT_SECTION,
    sources: Annotated[list[FindingSource] | None, Field(max_length=MAX_SOURCES)] = None,
) -> FindingAdded:
    """Add a finding to a section of the scratchpad; the section is made if it is new."""
    heading = _heading(section)
    if "\0" in f"{text}{heading}":  # not every database can store it
        raise ProviderError("a finding has a NUL character; leave it out")

    def work(connection: Connection, session: StoredSession) -> tuple[Finding, int]:
        from caps.store.repositories.findings import Findings, Source

        findings = Findings(connection, session)
        count = findings.count()
        if count >= MAX_FINDINGS:
            raise ProviderError(f"the scratchpad has {MAX_FINDINGS} findings; remove some first")
        given = tuple(Source(title=each["title"], url=each.get("url")) for each in sources or ())
        return findings.add(heading, text, given, context.labels), count + 1

    stored = await open_session_store(context, "findings")
    added, total = await stored.change(work)
    return {"number": added.number, "section": added.section, "total": total}


async def list_findings(context: CallContext, section: Section | None = None) -> FindingsFound:
    """List the findings of the scratchpad, of one section or of all."""
    found = await _all(context)
    heading = None if section is None else _heading(section)
    chosen = [each for each in found if heading in (None, each.section)]
    return {
        "findings": [_shown(each) for each in chosen],
        "sections": list(dict.fromkeys(each.section for each in found)),
        "count": len(chosen),
    }


async def remove(
    context: CallContext, number: Annotated[int, Field(ge=0, le=2**53 - 1)]
) -> FindingRemoved:
    """Remove a finding by its number."""

    def work(connection: Connection, session: StoredSession) -> Finding | None:
        from caps.store.repositories.findings import Findings

        return Findings(connection, session).remove(number)

    stored = await open_session_store(context, "findings")
    removed = await stored.change(work)
    if removed is not None:
        context.add_labels(*removed.labels)  # that it was there is an answer about it
    return {"number": number, "removed": removed is not None}


async def summary(
    context: CallContext,
    title: Annotated[str, Field(min_length=1, max_length=200)] = "Research",
) -> Summary:
    """Render the scratchpad as one Markdown document."""
    found = await _all(context)
    sources = list(dict.fromkeys(source for each in found for source in each.sources))
    numbers = {source: number for number, source in enumerate(sources, start=1)}
    sections = dict.fromkeys(each.section for each in found)
    lines = [f"# {_heading(title)}", ""]
    for section in sections:
        lines += [f"## {section}", ""]
        for each in found:
            if each.section == section:
                marks = "".join(f" [{numbers[source]}]" for source in each.sources)
                body = each.text.strip().replace("\n", "\n  ")
                lines.append(f"- {body}{marks}")
        lines.append("")
    if sources:
        lines += ["## Sources", ""]
        for source, number in numbers.items():
            at = "" if source.url is None else f" <{_heading(source.url)}>"
            lines.append(f"{number}. {_heading(source.title)}{at}")
    return {
        "text": "\n".join(lines).rstrip() + "\n",
        "sections": len(sections),
        "findings": len(found),
        "sources": len(sources),
    }


async def _all(context: CallContext) -> Sequence[Finding]:
    """All findings of the session, whose labels are those of the answer."""

    def work(connection: Connection, session: StoredSession) -> list[Finding]:
        from caps.store.repositories.findings import Findings

        return Findings(connection, session).all()

    stored = await open_session_store(context, "findings")
    found = await stored.read(work) or []
    context.add_labels(*{label for each in found for label in each.labels})
    return found


def _heading(text: str) -> str:
    """In one line, without what would end it."""
    line = " ".join(text.split())
    if not line:
        raise ProviderError("a heading or a title is empty; write at least one word")
    return line


def _shown(finding: Finding) -> FindingFound:
    return {
        "number": finding.number,
        "section": finding.section,
        "text": finding.text,
        "sources": [{"title": each.title, "url": each.url} for each in finding.sources],
        "created_at": finding.created_at,
    }
