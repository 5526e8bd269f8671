"""The table of attack classes in SECURITY.md: how many attacks each has is counted, never written.

`make attacks` writes it anew; a test fails when it is stale.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from escape.attacks import HERE, LAYERS, attacks_on

DOCUMENT = HERE.parent.parent / "SECURITY.md"
BEGIN, END = "<!-- attacks: written by `make attacks` -->\n", "<!-- end of attacks -->\n"

# What the attacks of each class try. A class is a directory, or the first word of a file's name.
CLASSES: dict[str, dict[str, str]] = {
    "language": {
        "async": "the loop and frames, by coroutines, tasks and what is awaited",
        "asyncio": "the event loop, its tasks and queues",
        "attributes": "names that lead to the interpreter or are private, spelt or made up",
        "builtins": "builtins that are left out, and those that stay, misused",
        "classes": "methods that change how attributes and classes come about; private inheritance",
        "copies": "attributes that a copy reads or writes by name, and copies of our own objects",
        "dataclasses": "code made from the names of fields",
        "decorators": "attributes written by a decorator",
        "descriptors": "what reads and writes attributes on behalf of a class",
        "dictionaries": "the dictionary of an object, and what writes into it",
        "enums": "members made from anything, and the hooks of enums",
        "evaluation": "text that is run as code, and the variables that it sees",
        "exceptions": "tracebacks, objects inside errors, groups, and breaking the report",
        "facades": "what lies behind the names of a module, and changing it",
        "formats": "attributes read by a text",
        "frames": "the frames of callers",
        "functions": "code, globals, cells and defaults of functions",
        "generators": "the frame of a generator, and running it out of turn",
        "hooks": "methods that are told of attributes, copies and unfinished classes",
        "imports": "modules that are not offered",
        "memory": "the interpreter's memory, by code that runs in the midst of its loops",
        "metaclasses": "the real `type`, or another metaclass",
        "nesting": "the stack of the compiler and of the interpreter",
        "patterns": "attributes read by a `match`",
        "places": "a refused name in every place that the grammar has",
        "privacy": "private attributes, where one check serves for many",
        "resources": "time, memory and output without end",
        "typing": "text evaluated as code, and what an alias passes on",
        "unicode": "names that are folded to others, and other encodings",
    },
    "kernel": {
        "channel": "the worker's own socket, used for more than talking",
        "descriptor": "descriptors that are inherited or made anew",
        "device": "devices",
        "file": "reading, writing, listing, linking, watching files",
        "identity": "another user, group or capability",
        "ipc": "queues and semaphores of the system",
        "kernel": "calls that no worker needs: bpf, io_uring, modules, keys, perf, other tables",
        "limit": "exhausting the host, and lifting or dodging limits",
        "memory": "memory that can be executed, or belongs to libraries",
        "mount": "mounts and roots",
        "namespace": "namespaces",
        "proc": "/proc",
        "process": "new processes, and seeing, tracing or changing others",
        "sandbox": "undoing what the sandbox has set",
        "secret": "secrets in the environment, in libraries, on disk",
        "signal": "signals to anybody",
        "socket": "sockets of every family",
        "sysfs": "/sys",
        "timer": "timers, which interrupt",
    },
    "channel": {
        "descriptors": "descriptors, credentials and urgent bytes beside the stream",
        "endings": "dying, stopping, closing, and not leaving",
        "floods": "frames without end",
        "forged": "what is not granted, and what only the host may say",
        "garbage": "bytes that are no message",
        "interleaved": "frames within frames, and out of order",
        "oversized": "more than there may be",
        "payloads": "payloads that are no data",
        "replayed": "what was said before",
        "sessions": "lie in a later cell of a session",
        "slow": "byte by byte, and never completing",
        "truncated": "less than was announced",
        "turn": "messages out of turn",
        "types": "types and fields that do not exist",
        "version": "other versions of the protocol",
    },
}


def table() -> str:
    """The rows, and the sum of each layer above its classes."""
    lines = ["| layer | class | tries | attacks |", "|---|---|---|---|"]
    for layer in LAYERS:
        counts = Counter(attack.kind for attack in attacks_on(layer))
        lines.append(f"| **{layer}** | | | **{counts.total()}** |")
        for kind in sorted(counts):
            lines.append(f"| | {_link(layer, kind)} | {CLASSES[layer][kind]} | {counts[kind]} |")
    return "\n".join(lines) + "\n"


def _link(layer: str, kind: str) -> str:
    place = HERE / layer / kind
    shown, target = (kind, place) if place.is_dir() else (f"{kind}_*", HERE / layer)
    return f"[{shown}]({target.relative_to(DOCUMENT.parent).as_posix()})"


def stale(text: str) -> bool:
    """Whether the table in the document is another one."""
    return _inside(text) != table()


def _inside(text: str) -> str:
    return text.partition(BEGIN)[2].partition(END)[0]


def write(document: Path) -> None:
    text = document.read_text()
    document.write_text(text.replace(BEGIN + _inside(text) + END, BEGIN + table() + END))


if __name__ == "__main__":
    write(DOCUMENT)
