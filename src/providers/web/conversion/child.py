"""The process that converts HTML. It is started as a file, by `converters.py`, and imports no Caps.

Runs outside the sandbox, without an environment, and never sees anything but pages: a request is a
form (one byte), a length and UTF-8; an answer is a state (one byte), a length and UTF-8. A page
that exhausts the stack, the memory or the time of this process ends it, and nothing else.
"""

from __future__ import annotations

import resource
import struct
import sys
from typing import BinaryIO

MEMORY_BYTES = 1024 * 1024 * 1024
HEADER = struct.Struct(">BI")
MARKDOWN, TEXT = 1, 2
OK, FAILED = 1, 2


def confine(cpu_seconds: int) -> None:
    """No more memory than this, no core file, no new descriptor, no process of its own."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Convert page after page until the other side closes."""
    from html_to_markdown import ConversionOptions, convert

    options = {
        form: ConversionOptions(
            output_format=name,
            extract_metadata=False,
            inline_data_media="alt_text_only",
            max_depth=512,
        )
        for form, name in ((MARKDOWN, "markdown"), (TEXT, "plain"))
    }
    convert("<p>ready</p>", options[MARKDOWN])
    confine(cpu_seconds=600)
    answers.write(HEADER.pack(OK, 0))
    answers.flush()
    while header := requests.read(HEADER.size):
        form, size = HEADER.unpack(header)
        page = requests.read(size).decode("utf-8")
        try:
            state, text = OK, convert(page, options[form]).content or ""
        except Exception:  # noqa: BLE001 - whatever it was, the page cannot be converted
            state, text = FAILED, ""
        data = text.encode("utf-8", "replace")
        answers.write(HEADER.pack(state, len(data)))
        answers.write(data)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
