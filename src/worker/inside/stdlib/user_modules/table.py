"""(4) The modules that run in user space, and the names that a program can import from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The library's own source.
LIBRARY_MODULES: Final[Mapping[str, str]] = {
    # The classes of its nodes are made from the interpreter's: `engines.syntax_trees`.
    "ast": (
        "NodeTransformer NodeVisitor PyCF_ONLY_AST PyCF_TYPE_COMMENTS copy_location dump "
        "fix_missing_locations get_docstring get_source_segment increment_lineno iter_child_nodes "
        "iter_fields literal_eval parse unparse walk"
    ),
    "argparse": (
        "Action ArgumentDefaultsHelpFormatter ArgumentError ArgumentParser ArgumentTypeError "
        "BooleanOptionalAction HelpFormatter MetavarTypeHelpFormatter Namespace ONE_OR_MORE "
        "OPTIONAL PARSER REMAINDER RawDescriptionHelpFormatter RawTextHelpFormatter SUPPRESS "
        "ZERO_OR_MORE"
    ),
    "configparser": (
        "BasicInterpolation ConfigParser ConverterMapping DEFAULTSECT DuplicateOptionError "
        "DuplicateSectionError Error ExtendedInterpolation Interpolation InterpolationDepthError "
        "InterpolationError InterpolationMissingOptionError InterpolationSyntaxError "
        "InvalidWriteError MAX_INTERPOLATION_DEPTH MissingSectionHeaderError "
        "MultilineContinuationError NoOptionError NoSectionError ParsingError RawConfigParser "
        "SectionProxy UNNAMED_SECTION UnnamedSectionDisabledError"
    ),
    "getopt": "GetoptError error getopt gnu_getopt",
    "html.parser": "HTMLParser",
    "http": "HTTPMethod HTTPStatus",
    "sched": "scheduler",
    "shlex": "join quote shlex split",
    "xml.etree.ElementTree": (
        "C14NWriterTarget Comment Element ElementTree PI ParseError ProcessingInstruction QName "
        "SubElement TreeBuilder VERSION XML XMLID XMLParser XMLPullParser canonicalize dump "
        "fromstring fromstringlist indent iselement iterparse parse register_namespace tostring "
        "tostringlist"
    ),
    "xml.sax.saxutils": "escape quoteattr unescape",
    "zipfile": (
        "BadZipFile BadZipfile LargeZipFile ZIP_BZIP2 ZIP_DEFLATED ZIP_LZMA ZIP_STORED ZipExtFile "
        "ZipFile ZipInfo error is_zipfile"
    ),
}

# The definitions of a module of the library that are kept, where they are few. A private name in
# a class keeps its long form.
KEPT: Final[Mapping[str, str]] = {
    "ast": (
        "NodeTransformer NodeVisitor Unparser _ALL_QUOTES _INFSTR _MULTI_QUOTES _Precedence "
        "_SINGLE_QUOTES _Unparser _line_pattern _pad_whitespace _splitlines_no_ff "
        "copy_location dump fix_missing_locations get_docstring get_source_segment "
        "increment_lineno iter_child_nodes iter_fields unparse walk"
    ),
    "xml.sax.saxutils": "__dict_replace escape quoteattr unescape",
}
# What is left out of others: definitions, and statements that import a module.
LEFT_OUT: Final[Mapping[str, str]] = {
    "ast": "NodeVisitor.visit_Constant",
    "sched": "__doc__",
    "xml.etree.ElementTree": "ElementPath ParseError XMLParser _elementtree",
    "zipfile": (
        "CompleteDirs FastLookup Path PyZipFile _ancestry _difference _parents _path "
        "importlib.util main"
    ),
}

# Source of ours, in the file that has the same name with `_` at its end.
OWN_MODULES: Final[Mapping[str, str]] = {
    "concurrent.futures": (
        "ALL_COMPLETED BrokenExecutor CancelledError Executor FIRST_COMPLETED FIRST_EXCEPTION "
        "Future InvalidStateError ThreadPoolExecutor TimeoutError as_completed wait"
    ),
    "inspect": (
        "BoundArguments FullArgSpec Parameter Signature cleandoc getdoc getfullargspec getmembers "
        "getmro isabstract isasyncgen isasyncgenfunction isawaitable isbuiltin isclass iscoroutine "
        "iscoroutinefunction isfunction isgenerator isgeneratorfunction ismethod ismodule "
        "isroutine signature"
    ),
    "logging": (
        "BASIC_FORMAT CRITICAL DEBUG ERROR FATAL Filter Filterer Formatter Handler INFO LogRecord "
        "Logger LoggerAdapter NOTSET NullHandler StreamHandler WARN WARNING addLevelName "
        "basicConfig critical debug disable error exception fatal getLevelName "
        "getLevelNamesMapping getLogger info lastResort log makeLogRecord root shutdown warn "
        "warning"
    ),
    "queue": "Empty Full LifoQueue PriorityQueue Queue ShutDown SimpleQueue",
    "sqlite3": (
        "Binary Connection Cursor DataError DatabaseError Date DateFromTicks Error IntegrityError "
        "InterfaceError InternalError NotSupportedError OperationalError PARSE_COLNAMES "
        "PARSE_DECLTYPES ProgrammingError Row Time TimeFromTicks Timestamp TimestampFromTicks "
        "Warning adapt apilevel complete_statement connect paramstyle register_adapter "
        "register_converter sqlite_version sqlite_version_info threadsafety"
    ),
    "threading": (
        "BoundedSemaphore Condition Event Lock RLock Semaphore "
        "TIMEOUT_MAX Thread active_count current_thread enumerate get_ident get_native_id local "
        "main_thread"
    ),
    "timeit": "Timer default_timer repeat timeit",
    "typing_extensions": "ReadOnly TypeIs deprecated override",
    "unittest": (
        "IsolatedAsyncioTestCase SkipTest TestCase TestLoader TestProgram TestResult TestSuite "
        "TextTestRunner defaultTestLoader expectedFailure main skip skipIf skipUnless"
    ),
    "weakref": (
        "ProxyType ReferenceType WeakKeyDictionary WeakMethod WeakSet WeakValueDictionary finalize "
        "proxy ref"
    ),
}

# Modules that those above import, and that no program can: of the library, and parts of ours.
HIDDEN_LIBRARY_MODULES: Final[Mapping[str, str]] = {
    "_markupbase": "ParserBase",
    "xml.etree.ElementPath": "find findall findtext iterfind",
}
PARTS: Final[Mapping[str, str]] = {
    "ast_tree": "build_tree",
    "gzip_files": "GzipFile open",
    "io_streams": (
        "BufferedIOBase BufferedReader BufferedWriter IOBase RawIOBase TextIOBase TextIOWrapper"
    ),
    "logging_handlers": "Handler NullHandler StreamHandler lastResort",
    "logging_records": (
        "BASIC_FORMAT CRITICAL DEBUG ERROR FATAL Filter Filterer Formatter INFO LogRecord NOTSET "
        "RECORD_FIELDS WARN WARNING addLevelName check_level getLevelName getLevelNamesMapping "
        "makeLogRecord"
    ),
    "sqlite_dump": "dump",
    "unittest_assertions": "Assertions",
    "unittest_newer": "NewerAssertions",
    "xml_parser": "ParseError TargetParser",
}
# Facades whose other names are loaded when they are first used: the part that has them.
LATE_NAMES: Final[Mapping[str, str]] = {"gzip": "gzip_files", "io": "io_streams"}
# A module that also has all names of another one.
EXTENDED: Final[Mapping[str, str]] = {"typing_extensions": "typing"}
# Sources of ours that are in the folder `sources`.
IN_SOURCES: Final = frozenset(
    "ast_tree gzip_files io_streams sqlite3 sqlite_dump typing_extensions unittest_newer weakref "
    "xml_parser".split()
)
HIDDEN_MODULES: Final[Mapping[str, str]] = {**HIDDEN_LIBRARY_MODULES, **PARTS}

USER_MODULES: Final[Mapping[str, str]] = {**LIBRARY_MODULES, **OWN_MODULES}
