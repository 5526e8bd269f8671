"""(4) What to write instead of a module or a name of the library that is not here, as data.

A refusal names what the code can do about it. What a capability does instead is in `allowlist`.
"""

from __future__ import annotations

from typing import Final

_ONE_PROCESS: Final = "a worker is one process with one thread"
_NO_NATIVE: Final = "no library of the system can be loaded here"
_NO_PROCESS: Final = "there are no other processes here"
_NO_DISPLAY: Final = "there is no display here; `print` what there is to show"
_NO_NETWORK: Final = "there is no network here"
NOBODY: Final = "nobody is there to answer; the caller can give values as `inputs`"
_USE_JSON: Final = "use `json`, or `copy.deepcopy` for a copy"
_USE_TIMERS: Final = "use `time.perf_counter` or `timeit`"
_USE_TREES: Final = "use `xml.etree.ElementTree`; its `indent` sets a tree in lines"
_USE_ZLIB: Final = "use `zlib` or `gzip`"

# By the full name of the module, or by its first part.
MODULE_REMEDIES: Final[dict[str, str]] = {
    "atexit": "use `try` and `finally`, or `contextlib.ExitStack`",
    "builtins": "what it has needs no import",
    "bz2": _USE_ZLIB,
    "cPickle": _USE_JSON,
    "cProfile": _USE_TIMERS,
    "codecs": "use `str.encode` and `bytes.decode`",
    "ctypes": f"{_NO_NATIVE}; use `struct` or `array` for bytes and numbers of C",
    "curses": _NO_DISPLAY,
    "dill": _USE_JSON,
    "doctest": "use `unittest` or `assert`",
    "ftplib": _NO_NETWORK,
    "getpass": NOBODY,
    "importlib": "write `import` and the name of the module",
    "locale": 'numbers are grouped by a format: `f"{n:,}"`',
    "logging.config": "use `logging.basicConfig`, or `addHandler` of a logger",
    "logging.handlers": (
        "records go to the captured output: use `logging.StreamHandler`, or derive from "
        "`logging.Handler`"
    ),
    "lzma": _USE_ZLIB,
    "marshal": _USE_JSON,
    "multiprocessing": f"{_ONE_PROCESS}; call the function in a loop",
    "pickle": _USE_JSON,
    "platform": "use `sys.platform` and `sys.version_info`",
    "profile": _USE_TIMERS,
    "pygame": _NO_DISPLAY,
    "pytest": "use `unittest` or `assert`",
    "shelve": "use a `dict`, or `sqlite3` in memory",
    "signal": "use `asyncio.timeout` or `asyncio.wait_for`",
    "smtplib": _NO_NETWORK,
    "socketserver": _NO_NETWORK,
    "ssl": _NO_NETWORK,
    "subprocess": _NO_PROCESS,
    "tarfile": "use `zipfile`",
    "tkinter": _NO_DISPLAY,
    "turtle": _NO_DISPLAY,
    "unittest.mock": "write a class or a function of your own in its place",
    "xml.dom": _USE_TREES,
    "xml.sax": _USE_TREES,
}

# Modules of the library that a policy may grant.
GRANTABLE: Final = frozenset(
    "bz2 dis email locale logging.config logging.handlers lzma mimetypes pickle plistlib tarfile "
    "tokenize unittest.mock xml.dom xml.sax".split()
)

# By the name of the facade and the name that it does not have.
NAME_REMEDIES: Final[dict[str, str]] = {
    "asyncio.create_subprocess_exec": _NO_PROCESS,
    "asyncio.create_subprocess_shell": _NO_PROCESS,
    "asyncio.open_connection": _NO_NETWORK,
    "asyncio.start_server": _NO_NETWORK,
    "collections.UserString": "derive from `str`",
    "concurrent.futures.ProcessPoolExecutor": f"{_ONE_PROCESS}; use `ThreadPoolExecutor`",
    "dataclasses.make_dataclass": "write a class statement with `@dataclass`",
    "http.client": _NO_NETWORK,
    "http.server": _NO_NETWORK,
    "inspect.getargspec": "use `inspect.signature`",
    "inspect.getsource": "the text of a function is not kept; `inspect.signature` shows its head",
    "logging.config": MODULE_REMEDIES["logging.config"],
    "logging.handlers": MODULE_REMEDIES["logging.handlers"],
    "os.fork": _ONE_PROCESS,
    "os.popen": _NO_PROCESS,
    "os.system": _NO_PROCESS,
    "random.SystemRandom": "use `secrets`",
    "string.Formatter": "use an f-string or `str.format`",
    "sys.stdin": NOBODY,
    "threading.Barrier": f"{_ONE_PROCESS}; use `asyncio.Barrier`",
    "threading.Timer": f"{_ONE_PROCESS}; use `asyncio.sleep` in a task",
    "time.clock": "use `time.perf_counter`",
    "types.new_class": "write a class statement",
    "unittest.mock": MODULE_REMEDIES["unittest.mock"],
}


def module_remedy(name: str) -> str:
    """What to do without the module `name`: empty, or each part after `; `."""
    parts = name.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    found = next((MODULE_REMEDIES[one] for one in names if one in MODULE_REMEDIES), None)
    grant = next((one for one in names if one in GRANTABLE), None)
    remedy = "" if found is None else f"; {found}"
    return remedy if grant is None else f'{remedy}; a policy can grant it: "modules": ["{grant}"]'
