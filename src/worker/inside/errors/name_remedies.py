"""(4) What to write for a name that does not exist, or that the language refuses, as data."""

from __future__ import annotations

from typing import Final

# Names that code uses without their import, and that no table of facades has.
IMPORTS: Final[dict[str, str]] = {
    "ABCMeta": "from abc import ABCMeta",
    "ET": "import xml.etree.ElementTree as ET",
    "SimpleNamespace": "from types import SimpleNamespace",
    "ZoneInfo": "from zoneinfo import ZoneInfo",
    "attrgetter": "from operator import attrgetter",
    "get_type_hints": "from typing import get_type_hints",
    "singledispatch": "from functools import singledispatch",
    "wraps": "from functools import wraps",
}
# The same for packages that a policy can grant.
PACKAGE_ALIASES: Final[dict[str, str]] = {
    "np": "numpy",
    "nx": "networkx",
    "pd": "pandas",
    "pl": "polars",
    "plt": "matplotlib.pyplot",
    "sns": "seaborn",
}

_COPIES: Final = "define `__copy__`"
_LINES: Final = "`traceback.extract_tb` shows the lines of an error"
_PARAMETERS: Final = "`inspect.signature` shows the parameters of a function"
# What to write instead of an identifier that the language layer refuses.
IDENTIFIER_REMEDIES: Final[dict[str, str]] = {
    "__code__": _PARAMETERS,
    "__deepcopy__": _COPIES,
    "__del__": "use a context manager",
    "__getattribute__": "define `__getattr__`",
    "__getstate__": _COPIES,
    "__globals__": "`globals()` shows the variables of the program",
    "__import__": "write `import`",
    "__origin__": "`typing.get_origin` returns it",
    "__reduce__": _COPIES,
    "__setstate__": _COPIES,
    "co_argcount": _PARAMETERS,
    "co_varnames": _PARAMETERS,
    "tb_frame": _LINES,
    "tb_lineno": _LINES,
    "tb_next": _LINES,
}
