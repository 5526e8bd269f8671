"""From everything that the library of user space gives out, nothing leads to the interpreter.

The walk takes what a program can take: public attributes under the guard, items, and iteration. It
starts from every facade, from the value of every sample program, and from the errors that misuse
raises.
"""

from __future__ import annotations

import types
from typing import Any

import pytest

from caps.worker.inside.channel.output import OutputStreams
from caps.worker.inside.facades.allowlist import FACADES
from caps.worker.inside.language.guards import AttributeGuards, OwnClasses
from caps.worker.inside.stdlib.importer import Importer
from caps.worker.inside.stdlib.replacements import REPLACEMENTS
from support.facade_samples import SAMPLES
from support.language_programs import power_of, run
from support.reachable_values import reachable

MODULES = sorted({*FACADES, *REPLACEMENTS})
_STEPS = 3


def found_powers(roots: dict[str, Any]) -> tuple[int, dict[str, str]]:
    """How many values were seen, and the way to each one that must not be reached."""
    walked = list(reachable(roots, AttributeGuards(OwnClasses()).getattr, steps=_STEPS))
    powers = ((way, power_of(value)) for way, value in walked)
    return len(walked), {way: power for way, power in powers if power is not None}


@pytest.mark.parametrize(
    "root",
    [{"a": [pytest]}, types.SimpleNamespace(a=types.SimpleNamespace(b=eval)), [{1: (type,)}]],
)
def test_the_walk_finds_what_it_looks_for(root: Any) -> None:
    """By attributes, by keys and by places."""
    assert len(found_powers({"root": root})[1]) == 1


def test_no_facade_leads_to_the_interpreter() -> None:
    """From every module, with its replacements, as a program has it."""
    importer = Importer(OwnClasses(), {}, OutputStreams())
    count, powers = found_powers({name: importer._find(name) for name in MODULES})
    assert count > 5_000
    assert powers == {}


@pytest.mark.parametrize("module", SAMPLES)
def test_no_value_of_a_module_leads_to_the_interpreter(module: str) -> None:
    """From the result of each sample."""
    values = {f"sample {at}": run(program).value for at, program in enumerate(SAMPLES[module])}
    assert found_powers(values)[1] == {}


MADE = """
import array, asyncio, calendar, collections, contextlib, csv, datetime, difflib, enum, functools
import graphlib, hashlib, hmac, io, json, operator, os, pathlib, pprint, random, re, statistics
import string, struct, sys, textwrap, time, traceback, types, typing, urllib.parse, uuid, warnings
import zoneinfo

def caught(f):
    try:
        f()
    except BaseException as error:
        return error

@functools.singledispatch
def dispatched(x): pass

class Own:
    @functools.singledispatchmethod
    def show(self, x): pass
    bound = functools.partialmethod(show, 1)


zone = zoneinfo.ZoneInfo("Europe/Paris")
[
    dispatched, dispatched.registry, dispatched.dispatch, dispatched.register, Own.show, Own().show,
    Own.bound, operator.attrgetter("x"), operator.methodcaller("x"), operator.itemgetter(0),
    array.array("i"), iter(array.array("i")), struct.Struct("i"), struct.iter_unpack("i", b""),
    io.StringIO(), io.BytesIO(), io.BytesIO().getbuffer(), sys.stdout, sys.stderr, os.environ,
    sys.float_info, sys.version_info, sys.hash_info, contextlib.redirect_stdout(io.StringIO()),
    contextlib.ExitStack(), contextlib.AsyncExitStack(), contextlib.nullcontext(1),
    csv.reader([]), csv.reader([]).dialect, csv.writer(io.StringIO()), csv.DictReader([]),
    csv.DictWriter(io.StringIO(), []), csv.Sniffer(), csv.excel(), calendar.Calendar(),
    calendar.TextCalendar(), calendar.HTMLCalendar(), calendar.month_name, difflib.Differ(),
    difflib.SequenceMatcher(None, "", ""), difflib.HtmlDiff(), graphlib.TopologicalSorter(),
    hmac.new(b"", b"", "md5"), hashlib.new("md5"), json.JSONDecoder(), json.JSONEncoder(),
    json.JSONDecoder().scan_once, pathlib.PurePath("a"), pathlib.PurePath("a").parents,
    pprint.PrettyPrinter(), random.Random(), re.compile("a").scanner("a"), statistics.NormalDist(),
    string.Template("$a"), string.Template.pattern, textwrap.TextWrapper(), time.gmtime(),
    types.SimpleNamespace(a=1), types.MappingProxyType({}), types.SimpleNamespace,
    typing.ParamSpec("P").args, typing.TypeVarTuple("T"), typing.get_origin(typing.Type[int]),
    typing.get_args(typing.Callable[[typing.Type], typing.Type[int]]), uuid.uuid4(), zone,
    datetime.datetime.now(zone), urllib.parse.urlparse("http://a"), urllib.parse.urldefrag("a"),
    warnings.catch_warnings(record=True), collections.UserDict(), collections.UserList(),
    enum.member(1), enum.nonmember(1), collections.abc.Mapping.register,
    caught(lambda: zoneinfo.ZoneInfo("Nowhere")), caught(lambda: operator.attrgetter(1)),
    caught(lambda: operator.attrgetter("nothing")(zone)), caught(lambda: dispatched()),
    caught(lambda: dispatched.register(print)), caught(lambda: array.array("x")),
    caught(lambda: array.array("i", [None])), caught(lambda: struct.Struct(1)),
    caught(lambda: struct.pack("i", "a")), caught(lambda: sys.exit(dispatched)),
    caught(lambda: sys.stdout.write(1)), caught(lambda: sys.stdout.close()),
    caught(lambda: print(file=1)), caught(lambda: csv.reader(1)), caught(lambda: csv.writer(1)),
    caught(lambda: list(csv.reader([1]))), caught(lambda: json.load(1)),
    caught(lambda: pathlib.PurePath(1)), caught(lambda: pathlib.PurePath("a").relative_to("b")),
    caught(lambda: string.Template("$").substitute()), caught(lambda: warnings.warn("", int)),
    caught(lambda: traceback.format_exception(1)), caught(lambda: typing.get_type_hints(1)),
    caught(lambda: graphlib.TopologicalSorter({1: [1]}).prepare()), caught(lambda: os.listdir),
    caught(lambda: types.SimpleNamespace(**{"__x__": 1})), caught(lambda: io.BytesIO("")),
    caught(lambda: hashlib.new("none")), caught(lambda: hmac.new(b"")),
    caught(lambda: calendar.monthrange(1, 13)), caught(lambda: uuid.UUID("x")),
    caught(lambda: functools.singledispatchmethod(1)), caught(lambda: types.MappingProxyType(1)),
    caught(lambda: contextlib.AsyncExitStack().enter_context(1)), sys.exc_info(),
]
"""


def test_nothing_that_a_program_makes_leads_to_the_interpreter() -> None:
    """From instances of what the modules offer, and from the errors of their misuse."""
    count, powers = found_powers({"made": run(MADE).value})
    assert count > 1_000
    assert powers == {}
