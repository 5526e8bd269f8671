"""Converting HTML: in processes of their own, one page at a time each, bounded in size and time.

A page is hostile input for a parser in C or Rust, which no thread could be stopped in. A process
that takes too long is killed, and the next page gets a new one. Processes are started on first use
and kept; principals take turns.
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
_PAGES_OF_ONE: Final = 500  # then it is replaced, whatever it has kept

_FORMS: Final = {"markdown": MARKDOWN, "text": TEXT}
_CHILD: Final = Path(__file__).with_name("child.py")


class _Converter:
    """One process."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._answers = BufferedByteReceiveStream(process.stdout)
        self.pages = 0

    @classmethod
    async def start(cls) -> _Converter:
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
        converter = cls(process)
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
        await self._requests.send(HEADER.pack(form, len(page)) + page)
        return await self._answer()

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
        try:
            found = await self._convert(_FORMS[form], page, seconds)
        finally:
            self._slots.release(principal)
        if found is None:
            raise ProviderError(f"the page cannot be converted to {form}; fetch it as it is")
        return found.decode("utf-8", "replace")

    async def _convert(self, form: int, page: bytes, seconds: float) -> bytes | None:
        converter = self._idle.pop() if self._idle else await self._start()
        kept = False
        try:
            with anyio.move_on_after(seconds):
                found = await converter.convert(form, page)
                kept = converter.pages < _PAGES_OF_ONE
                return found
            raise ProviderError(f"converting the page took longer than {seconds:g} seconds")
        except (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.EndOfStream):
            return None
        finally:
            if kept:
                self._idle.append(converter)
            else:
                await converter.end()

    async def _start(self) -> _Converter:
        try:
            return await _Converter.start()
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
