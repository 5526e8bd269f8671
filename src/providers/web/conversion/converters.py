"""Converting HTML: in processes of their own, one page at a time each, bounded in size and time.

A page is hostile input for a parser in C or Rust, which no thread could be stopped in. A process
that takes too long is killed, and the next page gets a new one. Processes are started on first use
and kept, each for the pages of one principal: should a page ever take one over, it sees no page of
anybody else. Principals take turns.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Literal

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from caps.protocol.errors import ProviderError
from caps.providers.web.conversion.child import FAILED, HEADER, MARKDOWN, TEXT
from caps.worker.host.pool.fair_slots import FairSlots

CONVERTERS: Final = 2
CONVERSION_SECONDS: Final = 5.0
# More than the largest body as UTF-8: the answer must fit a message to the worker.
MAX_CONVERTED_BYTES: Final = 12 * 1024 * 1024
_START_SECONDS: Final = 20.0
# Then a process is replaced, whatever it has kept. The seconds are far below its own CPU limit.
_PAGES_OF_ONE: Final = 500
_SECONDS_OF_ONE: Final = 120.0

_FORMS: Final = {"markdown": MARKDOWN, "text": TEXT}
_CHILD: Final = Path(__file__).with_name("child.py")


class _Converter:
    """One process."""

    def __init__(self, process: Process, principal: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._answers = BufferedByteReceiveStream(process.stdout)
        self.principal = principal
        self.pages = 0
        self.seconds = 0.0

    @classmethod
    async def start(cls, principal: str) -> _Converter:
        # Isolated mode: neither the environment nor the directory decides what it imports.
        command = [sys.executable, "-I", str(_CHILD)]
        process = await anyio.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
        converter = cls(process, principal)
        try:
            with anyio.fail_after(_START_SECONDS):
                await converter._answer()  # it is ready
        except BaseException:
            await converter.end()
            raise
        return converter

    async def convert(self, form: int, page: bytes) -> bytes | None:
        """The result; None if the page cannot be converted."""
        self.pages += 1
        began = anyio.current_time()
        await self._requests.send(HEADER.pack(form, len(page)) + page)
        found = await self._answer()
        self.seconds += anyio.current_time() - began
        return found

    @property
    def is_worn(self) -> bool:
        return self.pages >= _PAGES_OF_ONE or self.seconds >= _SECONDS_OF_ONE

    async def _answer(self) -> bytes | None:
        state, size = HEADER.unpack(await self._answers.receive_exactly(HEADER.size))
        if state == FAILED:
            return None
        if size > MAX_CONVERTED_BYTES:
            raise anyio.IncompleteRead
        return await self._answers.receive_exactly(size) if size else b""

    async def end(self) -> None:
        """Kill it, and wait until it is gone."""
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.aclose()


class Converters:
    """The processes of one runtime."""

    def __init__(self) -> None:
        self._slots = FairSlots(CONVERTERS, CONVERTERS)
        self._idle: list[_Converter] = []
        self._busy = 0

    async def convert(
        self,
        principal: str,
        html: str,
        form: Literal["markdown", "text"],
        seconds: float = CONVERSION_SECONDS,
    ) -> str:
        """`html` in another form. ProviderError if that fails or takes longer than `seconds`."""
        page = html.encode("utf-8", "replace")
        await self._slots.acquire(principal)
        self._busy += 1
        try:
            found = await self._convert(principal, _FORMS[form], page, seconds)
        finally:
            self._busy -= 1
            self._slots.release(principal)
        if found is None:
            raise ProviderError(f"the page cannot be converted to {form}; fetch it as it is")
        return found.decode("utf-8", "replace")

    async def _convert(
        self, principal: str, form: int, page: bytes, seconds: float
    ) -> bytes | None:
        converter = await self._converter_of(principal)
        kept = False
        try:
            with anyio.move_on_after(seconds):
                found = await converter.convert(form, page)
                kept = not converter.is_worn
                return found
            raise ProviderError(f"converting the page took longer than {seconds:g} seconds")
        except (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.EndOfStream):
            return None
        finally:
            if kept:
                self._idle.append(converter)
            else:
                await converter.end()

    async def _converter_of(self, principal: str) -> _Converter:
        """An idle process of this principal, or a new one in the place of somebody else's.

        The callers that have a slot, this one included, are counted in `_busy`.
        """
        for index, each in enumerate(self._idle):
            if each.principal == principal:
                return self._idle.pop(index)
        while len(self._idle) > CONVERTERS - self._busy:
            await self._idle.pop(0).end()
        return await self._start(principal)

    async def _start(self, principal: str) -> _Converter:
        try:
            return await _Converter.start(principal)
        except (anyio.IncompleteRead, anyio.EndOfStream, OSError, TimeoutError):
            raise ProviderError("the converter of pages does not start on this host") from None

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().end()


@asynccontextmanager
async def open_converters() -> AsyncIterator[Converters]:
    """The converters of a runtime, for `context.resource`."""
    converters = Converters()
    try:
        yield converters
    finally:
        await converters.aclose()
