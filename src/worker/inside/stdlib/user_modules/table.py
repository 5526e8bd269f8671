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
OWN_MODULES: Final[Mapping[str, str]] = {}

# Modules that those above import, and that no program can import.
HIDDEN_MODULES: Final[Mapping[str, str]] = {
    "_markupbase": "ParserBase",
}

USER_MODULES: Final[Mapping[str, str]] = {**LIBRARY_MODULES, **OWN_MODULES}
