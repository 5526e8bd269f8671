"""(1) Which real modules a policy may grant by name: the check, and the two lists that it uses.

A granted module is the real, unrestricted one; the language layer does not restrict what code does
with it, only the kernel layers do. So the lists here are not a defence. They keep an operator from
granting a module that is useless (access to the machine, which the kernel denies anyway) or that
would replace what code already has (a facade, our own package).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from caps.security.policies.names import quoted

MAX_MODULES: Final = 32
# Used in the JSON Schema as well; a leading underscore marks an internal part of another module. A
# part of a module may have one: a package may need it later than it can be loaded.
MODULE_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9_]{0,63}(\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7}$"
_MODULE = re.compile(MODULE_PATTERN[1:-1])

# Code has these as facades; a test compares the list with the tables of `src/worker/inside`.
FACADE_MODULES: Final = frozenset(
    "abc array asyncio base64 binascii bisect calendar cmath collections colorsys contextlib "
    "contextvars copy csv dataclasses datetime decimal difflib enum errno fnmatch fractions "
    "functools gc graphlib gzip hashlib heapq hmac html io ipaddress itertools json keyword math "
    "numbers operator os pathlib posixpath pprint random re secrets statistics string struct sys "
    "textwrap time tomllib traceback types typing unicodedata urllib uuid warnings zlib "
    "zoneinfo".split()
)

# Only access to the machine and the interpreter: files, processes, sockets, memory, imports.
MACHINE_MODULES: Final = frozenset(
    "atexit bdb builtins cffi code codeop concurrent crypt ctypes curses dbm ensurepip "
    "faulthandler fcntl filecmp fileinput ftplib getpass glob grp http imaplib imp importlib "
    "inspect linecache mailbox marshal mmap modulefinder msvcrt multiprocessing netrc nntplib "
    "nt os pdb pip pipes pkgutil platform poplib posix profile pty pwd pyseccomp readline "
    "resource runpy sched select selectors setuptools shelve shutil signal site smtpd smtplib "
    "socket socketserver spwd ssl subprocess sys sysconfig syslog telnetlib tempfile termios "
    "threading trace tracemalloc tty venv webbrowser wsgiref xmlrpc zipimport".split()
)


def checked_module(text: str) -> str:
    """Return `text` if a policy may grant the module; else raise ValueError with the reason."""
    if _MODULE.fullmatch(text) is None:
        raise ValueError(
            f"{quoted(text)} is not a module: letters, digits and underscores, at most 64 of them, "
            "a letter first; at most 8 such names with dots between them"
        )
    top = text.partition(".")[0]
    if top == "caps":
        raise ValueError("`caps` is our own, and what it grants are capabilities: use `allow`")
    if top in MACHINE_MODULES:
        raise ValueError(
            f"`{text}` is nothing but the machine, which the kernel withholds from workers: "
            "grant a capability instead"
        )
    if top in FACADE_MODULES and top != text:
        raise ValueError(f"`{text}` cannot be granted: code has a facade of `{top}`")
    if top in FACADE_MODULES:
        raise ValueError(f"`{text}` is there without a grant: code has a facade of it")
    return text


def covers(granted: Collection[str], name: str) -> bool:
    """Whether `granted` has `name` or a package that contains it."""
    parts = name.split(".")
    return any(".".join(parts[:length]) in granted for length in range(1, len(parts) + 1))
