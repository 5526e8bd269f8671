"""The table of attack classes in SECURITY.md: the number of attacks is counted.

`make attacks` writes it again; a test fails if it is stale.
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
        "async": "reach the loop and frames through coroutines, tasks and awaitables",
        "asyncio": "reach inside the event loop, its tasks and queues",
        "attributes": "read private names and names that lead to the interpreter",
        "builtins": "use missing builtins, and misuse the others",
        "classes": "change how attributes and classes are created; inherit private names",
        "copies": "read or write attributes by name through a copy; copy objects of the runtime",
        "dataclasses": "inject code through the names of fields",
        "decorators": "write attributes through a decorator",
        "descriptors": "read and write attributes through descriptors",
        "dictionaries": "write to the dictionary of an object",
        "enums": "create members from arbitrary values; misuse the hooks of enums",
        "evaluation": "run text as code, and reach the variables that it sees",
        "exceptions": "use tracebacks, objects inside errors and groups; break the error report",
        "facades": "reach or change what is behind a facade",
        "formats": "read attributes through a format string",
        "frames": "reach the frames of callers",
        "functions": "reach the code, globals, cells and defaults of functions",
        "generators": "reach the frame of a generator, or re-enter it",
        "hooks": "define methods that are called with attributes, copies or unfinished classes",
        "imports": "import other modules than the facades",
        "memory": "corrupt the interpreter's memory with code that runs inside its C loops",
        "metaclasses": "use the real `type`, or another metaclass",
        "nesting": "exhaust the stack of the compiler or the interpreter",
        "patterns": "read attributes through `match`",
        "places": "write a refused name in every place that the grammar allows",
        "interrupts": "use an interrupt to live on, or to leave something of ours half done",
        "privacy": "read private attributes where one check covers several accesses",
        "resources": "use unlimited time, memory and output",
        "typing": "evaluate text as code; reach objects through generic aliases",
        "unicode": "use names that Unicode folds to others, and other encodings",
    },
    "kernel": {
        "channel": "misuse the worker's own socket",
        "descriptor": "use inherited descriptors, or create new ones",
        "device": "open devices",
        "file": "read, write, list, link or watch files",
        "identity": "become another user or group, or gain a Linux capability",
        "ipc": "use queues and semaphores of the system",
        "kernel": "make other system calls: bpf, io_uring, modules, keys, perf, other tables",
        "limit": "exhaust the host; raise or evade limits",
        "memory": "make memory executable, or change that of libraries",
        "mount": "mount file systems, or change the root",
        "namespace": "enter or create namespaces",
        "proc": "read or write /proc",
        "process": "create processes; see, trace or change others",
        "sandbox": "undo the settings of the sandbox",
        "secret": "find secrets in the environment, in libraries, on disk",
        "signal": "send signals to any process",
        "socket": "open sockets of every family",
        "sysfs": "read or write /sys",
        "timer": "set timers that interrupt",
    },
    "channel": {
        "descriptors": "send descriptors, credentials or urgent bytes with the stream",
        "endings": "exit, stop, close the channel, or refuse to exit",
        "floods": "send frames without end",
        "forged": "request what is not granted; send messages that only the host may send",
        "garbage": "send bytes that are not a message",
        "interleaved": "send frames within frames, or out of order",
        "oversized": "exceed the size limits",
        "payloads": "send payloads that are not plain data",
        "replayed": "send a message again",
        "sessions": "misbehave in a later cell of a session",
        "slow": "send byte by byte, or never complete a frame",
        "streams": "ask for items of no stream, ask twice, stop twice, open many and read none",
        "truncated": "send less than announced",
        "turn": "send messages out of turn",
        "types": "send unknown types and fields",
        "version": "use other versions of the protocol",
    },
}


def table() -> str:
    """The rows: the total of each layer, then its classes."""
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
    """Whether the table in the document differs from the current one."""
    return _inside(text) != table()


def _inside(text: str) -> str:
    return text.partition(BEGIN)[2].partition(END)[0]


def write(document: Path) -> None:
    text = document.read_text()
    document.write_text(text.replace(BEGIN + _inside(text) + END, BEGIN + table() + END))


if __name__ == "__main__":
    write(DOCUMENT)
