"""(4) The modules that run in user space, and the names that a program can import from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# The library's own source.
LIBRARY_MODULES: Final[Mapping[str, str]] = {
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
        "MAX_INTERPOLATION_DEPTH MissingSectionHeaderError NoOptionError NoSectionError "
        "ParsingError RawConfigParser SectionProxy"
    ),
    "html.parser": "HTMLParser",
    "shlex": "join quote shlex split",
}

# Source of ours, in the file of this folder that has the same name with `_` at its end.
OWN_MODULES: Final[Mapping[str, str]] = {
    "ast": "literal_eval",
    "concurrent.futures": (
        "ALL_COMPLETED BrokenExecutor CancelledError Executor FIRST_COMPLETED FIRST_EXCEPTION "
        "Future InvalidStateError ThreadPoolExecutor TimeoutError as_completed wait"
    ),
    "inspect": (
        "BoundArguments Parameter Signature cleandoc getdoc getmembers getmro isabstract "
        "isasyncgen isasyncgenfunction isawaitable isbuiltin isclass iscoroutine "
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
    "threading": (
        "BoundedSemaphore Condition Event Lock RLock Semaphore "
        "TIMEOUT_MAX Thread active_count current_thread enumerate get_ident get_native_id local "
        "main_thread"
    ),
    "timeit": "Timer default_timer repeat timeit",
    "unittest": (
        "IsolatedAsyncioTestCase SkipTest TestCase TestLoader TestProgram TestResult TestSuite "
        "TextTestRunner defaultTestLoader expectedFailure main skip skipIf skipUnless"
    ),
}

# Modules that those above import, and that no program can: of the library, and parts of ours.
HIDDEN_LIBRARY_MODULES: Final[Mapping[str, str]] = {
    "_markupbase": "ParserBase",
}
PARTS: Final[Mapping[str, str]] = {
    "logging_handlers": "Handler NullHandler StreamHandler lastResort",
    "logging_records": (
        "BASIC_FORMAT CRITICAL DEBUG ERROR FATAL Filter Filterer Formatter INFO LogRecord NOTSET "
        "RECORD_FIELDS WARN WARNING addLevelName check_level getLevelName getLevelNamesMapping "
        "makeLogRecord"
    ),
    "unittest_assertions": "Assertions",
}
HIDDEN_MODULES: Final[Mapping[str, str]] = {**HIDDEN_LIBRARY_MODULES, **PARTS}

USER_MODULES: Final[Mapping[str, str]] = {**LIBRARY_MODULES, **OWN_MODULES}
