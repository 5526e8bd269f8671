"""(4) Where printed text goes: the captured output, or an object that user code put in its place.

`print`, `pprint.pprint` and a library's own printing write to what is in the place of the stream
now, so `redirect_stdout` affects all of them. The stream itself, which user code may have kept,
always writes to the captured output. An object that a user puts in its place is called as user code
could call it, with plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from caps.worker.inside.aio.sealed import Sealed


def _discard(_text: str) -> None:
    """The sink of an execution whose output is not captured: the warm-up of the zygote."""


def _no_flush() -> None:
    """The flush of a sink that buffers nothing."""


def _plain_text(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"write() argument must be str, not {type(text).__name__}")
    return "".join((text, ""))  # a plain str, as a subclass may have methods of its own


class Stream(metaclass=Sealed):
    """`sys.stdout` or `sys.stderr` of user space: the captured output."""

    __slots__ = ("_flush", "_sink", "name")

    encoding = "utf-8"
    errors = "backslashreplace"
    closed = False

    def __init__(self, name: str, sink: Callable[[str], None], flush: Callable[[], None]) -> None:
        self.name = name
        self._sink = sink
        self._flush = flush

    def write(self, text: str) -> int:
        """Write text. Returns its length."""
        plain = _plain_text(text)
        self._sink(plain)
        return len(plain)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._flush()

    def isatty(self) -> bool:
        return False

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def close(self) -> NoReturn:
        raise ValueError("the captured output cannot be closed")

    def __repr__(self) -> str:
        return f"<captured output {self.name}>"


class CurrentStream(metaclass=Sealed):
    """What is in the place of a stream now. User code never gets it, but `print` writes to it."""

    __slots__ = ("_instead", "_sink", "original")

    def __init__(self, original: Stream) -> None:
        self.original = original
        self._sink = original._sink
        self._instead: list[Any] = []

    def write(self, text: str) -> int:
        """Write text. Returns its length."""
        plain = _plain_text(text)
        if self._instead:
            self._instead[-1].write(plain)
        else:
            self._sink(plain)
        return len(plain)

    def flush(self) -> None:
        flush = getattr(self._instead[-1] if self._instead else self.original, "flush", None)
        if flush is not None:
            flush()


class Redirection(metaclass=Sealed):
    """`with redirect_stdout(buffer):`"""

    __slots__ = ("_stream", "_target")

    def __init__(self, stream: CurrentStream, target: Any) -> None:
        self._stream = stream
        self._target = target

    def __enter__(self) -> Any:
        self._stream._instead.append(self._target)
        return self._target

    def __exit__(self, *_error: object) -> None:
        if self._stream._instead:
            self._stream._instead.pop()


class OutputStreams(metaclass=Sealed):
    """The two streams of one execution; both write to its captured output."""

    __slots__ = ("stderr", "stdout")

    def __init__(
        self,
        sink: Callable[[str], None] = _discard,
        flush: Callable[[], None] = _no_flush,
    ) -> None:
        self.stdout = CurrentStream(Stream("<stdout>", sink, flush))
        self.stderr = CurrentStream(Stream("<stderr>", sink, flush))

    def current(self, stream: CurrentStream) -> Any:
        """The object that is in the place of a stream now."""
        return stream._instead[-1] if stream._instead else stream.original

    def replace(self, stream: CurrentStream, target: Any) -> None:
        """Put `target` in the place of a stream; the stream itself takes its place back."""
        stream._instead[:] = [] if target is stream.original else [target]

    def redirect_stdout(self, new_target: Any) -> Redirection:
        """`contextlib.redirect_stdout`."""
        return Redirection(self.stdout, new_target)

    def redirect_stderr(self, new_target: Any) -> Redirection:
        """`contextlib.redirect_stderr`."""
        return Redirection(self.stderr, new_target)


def make_print(stdout: CurrentStream) -> Callable[..., None]:
    """`print` to the captured output, or to the object that the code passes as `file`."""

    def print(  # noqa: A001 - the name that user space sees
        *values: Any,
        sep: Any = " ",
        end: Any = "\n",
        file: Any = None,
        flush: bool = False,
    ) -> None:
        between = " " if sep is None else sep
        after = "\n" if end is None else end
        if not isinstance(between, str) or not isinstance(after, str):
            raise TypeError("`sep` and `end` must be strings")
        target = stdout if file is None else file
        # Any of these may be a subclass with methods of its own; what is written is a plain string.
        # The passed object is called as the code itself could: by a public name, with a string.
        target.write("".join((str.join(between, [str(value) for value in values]), after)))
        if flush:
            target.flush()

    print.__qualname__ = "print"  # the name in the TypeError for a wrong argument
    return print
