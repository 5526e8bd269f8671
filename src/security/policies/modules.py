"""(1) Which real modules a policy may grant by name: the rule, and the two lists that it stands on.

A granted module is what it is for everybody else; the language layer does not vouch for what code
does with it, the kernel layers do. So the lists here are no defence. They keep an operator from
granting what would be of no use (the machine, which the kernel withholds all the same) or would
take the place of what code has anyway (a facade, our own package).
"""

from __future__ import annotations

import re
from typing import Final

from caps.security.policies.names import quoted

MOST_MODULES: Final = 32
# For JSON Schema and for us alike; a leading underscore marks the insides of another module.
MODULE_PATTERN: Final = r"^[A-Za-z][A-Za-z0-9_]{0,63}$"
_MODULE = re.compile(MODULE_PATTERN[1:-1])

# Code has these as facades; a test holds the list to the tables of `src/worker/inside`.
FACADE_MODULES: Final = frozenset(
    "abc array asyncio base64 binascii bisect calendar cmath collections colorsys contextlib copy "
    "csv dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq hmac "
    "html io itertools json keyword math numbers operator os pathlib posixpath pprint random re "
    "secrets statistics string struct sys textwrap time traceback types typing unicodedata urllib "
    "uuid warnings zoneinfo".split()
)

# Nothing but the machine and the interpreter: files, processes, sockets, memory, imports.
MACHINE_MODULES: Final = frozenset(
    "atexit bdb builtins cffi code codeop concurrent crypt ctypes curses dbm ensurepip "
    "faulthandler fcntl filecmp fileinput ftplib gc getpass glob grp http imaplib imp importlib "
    "inspect linecache mailbox marshal mmap modulefinder msvcrt multiprocessing netrc nntplib "
    "nt os pdb pip pipes pkgutil platform poplib posix profile pty pwd pyseccomp readline "
    "resource runpy sched select selectors setuptools shelve shutil signal site smtpd smtplib "
    "socket socketserver spwd ssl subprocess sys sysconfig syslog telnetlib tempfile termios "
    "threading trace tracemalloc tty venv webbrowser wsgiref xmlrpc zipimport".split()
)


def checked_module(text: str) -> str:
    """`text` itself if a policy may grant the module; ValueError, saying why not, otherwise."""
    if "." in text and all(map(_MODULE.fullmatch, text.split("."))):
        top = text.partition(".")[0]
        raise ValueError(f"{quoted(text)} is part of a module: write `{top}` for all of it")
    if _MODULE.fullmatch(text) is None:
        raise ValueError(
            f"{quoted(text)} is not a module: letters, digits and underscores, at most 64 of them, "
            "a letter first"
        )
    if text == "caps":
        raise ValueError("`caps` is our own, and what it grants are capabilities: use `allow`")
    if text in MACHINE_MODULES:
        raise ValueError(
            f"`{text}` is nothing but the machine, which the kernel withholds from workers: "
            "grant a capability instead"
        )
    if text in FACADE_MODULES:
        raise ValueError(f"`{text}` is there without a grant: code has a facade of it")
    return text
