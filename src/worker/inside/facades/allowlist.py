"""(4) The names of each module that user space may import. None of them gives access to a module,
a file, the network, or to code built from strings.

Left out on purpose, among others: `types.new_class` and `enum.EnumType` (they create any class),
`dataclasses.make_dataclass`, `enum.global_enum` (it writes into modules), `string.Formatter` and
`collections.UserString` (their `format` reads attributes by name), `enum.property` (it reads an
attribute whose name can be set), `types.coroutine` (it changes functions), `uuid.uuid1`,
`random.SystemRandom`. The names that user space gets in another form are in `stdlib/replacements`.
"""

from __future__ import annotations

import sys

_PATH_NAMES = (
    "altsep basename commonpath commonprefix curdir dirname extsep isabs join normcase normpath "
    "pardir pathsep sep split splitdrive splitext"
)

FACADES: dict[str, str] = {
    "abc": "ABC abstractmethod",
    "array": "typecodes",
    "base64": (
        "a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode "
        "b64decode b64encode b85decode b85encode decodebytes encodebytes standard_b64decode "
        "standard_b64encode urlsafe_b64decode urlsafe_b64encode"
    ),
    "binascii": (
        "Error Incomplete a2b_base64 a2b_hex a2b_qp b2a_base64 b2a_hex b2a_qp crc32 crc_hqx "
        "hexlify unhexlify"
    ),
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "calendar": (
        "Calendar FRIDAY HTMLCalendar IllegalMonthError IllegalWeekdayError MONDAY SATURDAY SUNDAY "
        "THURSDAY TUESDAY TextCalendar WEDNESDAY calendar day_abbr day_name firstweekday isleap "
        "leapdays month month_abbr month_name monthcalendar monthrange prcal prmonth "
        "setfirstweekday timegm weekday weekheader"
    ),
    "cmath": (
        "acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf "
        "isnan log log10 nan nanj phase pi polar rect sin sinh sqrt tan tanh tau"
    ),
    "collections": "ChainMap Counter OrderedDict UserDict UserList abc defaultdict deque",
    "collections.abc": (
        "AsyncGenerator AsyncIterable AsyncIterator Awaitable Callable Collection Container "
        "Coroutine Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView "
        "MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView"
    ),
    "colorsys": "hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb",
    "contextlib": (
        "AbstractAsyncContextManager AbstractContextManager AsyncContextDecorator AsyncExitStack "
        "ContextDecorator ExitStack aclosing asynccontextmanager closing contextmanager "
        "nullcontext suppress"
    ),
    "contextvars": "Context ContextVar Token copy_context",
    "copy": "Error copy deepcopy",
    "csv": (
        "Dialect DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE "
        "QUOTE_NONNUMERIC Sniffer excel excel_tab field_size_limit get_dialect list_dialects "
        "reader register_dialect unix_dialect unregister_dialect writer"
    ),
    "dataclasses": (
        "FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple dataclass field fields "
        "is_dataclass replace"
    ),
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "decimal": (
        "Clamped Context ConversionSyntax Decimal DecimalException DecimalTuple DivisionByZero "
        "DivisionImpossible DivisionUndefined FloatOperation Inexact InvalidContext "
        "InvalidOperation MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING "
        "ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded "
        "Subnormal Underflow getcontext localcontext setcontext"
    ),
    "difflib": (
        "Differ HtmlDiff IS_CHARACTER_JUNK IS_LINE_JUNK SequenceMatcher context_diff diff_bytes "
        "get_close_matches ndiff restore unified_diff"
    ),
    "enum": (
        "CONFORM CONTINUOUS EJECT Enum EnumCheck Flag FlagBoundary IntEnum IntFlag KEEP "
        "NAMED_FLAGS STRICT StrEnum UNIQUE auto member nonmember unique verify"
    ),
    "errno": (
        "E2BIG EACCES EAGAIN EEXIST EINTR EINVAL EIO EISDIR ENOENT ENOSPC ENOTDIR EPERM errorcode"
    ),
    "fnmatch": "filter fnmatch fnmatchcase translate",
    "fractions": "Fraction",
    "functools": (
        "cache cached_property cmp_to_key lru_cache partial partialmethod reduce total_ordering"
    ),
    "gc": "collect",
    "graphlib": "CycleError TopologicalSorter",
    "gzip": "BadGzipFile compress decompress",
    "hashlib": (
        "algorithms_guaranteed blake2b blake2s md5 new pbkdf2_hmac scrypt sha1 sha224 sha256 "
        "sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256"
    ),
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "hmac": "HMAC compare_digest digest new",
    "html": "entities escape unescape",
    "html.entities": "codepoint2name entitydefs html5 name2codepoint",
    "io": "BytesIO SEEK_CUR SEEK_END SEEK_SET StringIO UnsupportedOperation text_encoding",
    "ipaddress": (
        "AddressValueError IPV4LENGTH IPV6LENGTH IPv4Address IPv4Interface IPv4Network IPv6Address "
        "IPv6Interface IPv6Network NetmaskValueError collapse_addresses get_mixed_type_key "
        "ip_address ip_interface ip_network summarize_address_range v4_int_to_packed "
        "v6_int_to_packed"
    ),
    "itertools": (
        "accumulate chain combinations combinations_with_replacement compress count cycle "
        "dropwhile filterfalse groupby islice pairwise permutations product repeat "
        "starmap takewhile tee zip_longest"
    ),
    "json": "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
    "keyword": "iskeyword issoftkeyword kwlist softkwlist",
    "math": (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees "
        "dist e erf erfc exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd "
        "hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p "
        "log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan "
        "tanh tau trunc ulp"
    ),
    "numbers": "Complex Integral Number Rational Real",
    "operator": (
        "abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand "
        "iconcat ifloordiv ilshift imatmul imod imul index indexOf inv invert ior ipow irshift "
        "is_ is_not isub itemgetter itruediv ixor le length_hint lshift lt matmul mod mul ne neg "
        "not_ or_ pos pow rshift setitem sub truediv truth xor"
    ),
    "os": (
        "PathLike SEEK_CUR SEEK_END SEEK_SET altsep curdir extsep fspath linesep name pardir path "
        "pathsep sep urandom"
    ),
    "os.path": _PATH_NAMES,
    "posixpath": _PATH_NAMES,
    "pprint": "isreadable isrecursive pformat saferepr",
    "random": (
        "Random betavariate choice choices expovariate gammavariate gauss getrandbits getstate "
        "lognormvariate normalvariate paretovariate randbytes randint random randrange "
        "sample seed setstate shuffle triangular uniform vonmisesvariate weibullvariate"
    ),
    "re": (
        "A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern RegexFlag S U "
        "UNICODE VERBOSE X compile error escape findall finditer fullmatch match purge search "
        "split sub subn"
    ),
    "secrets": "choice compare_digest randbelow randbits token_bytes token_hex token_urlsafe",
    "statistics": (
        "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean "
        "linear_regression mean median median_grouped median_high median_low mode "
        "multimode pstdev pvariance quantiles stdev variance"
    ),
    "string": (
        "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits "
        "octdigits printable punctuation whitespace"
    ),
    "struct": "calcsize error iter_unpack pack pack_into unpack unpack_from",
    "sys": (
        "byteorder exc_info exception exit float_info getrecursionlimit getsizeof hash_info "
        "hexversion int_info intern maxsize maxunicode platform version version_info"
    ),
    "textwrap": "TextWrapper dedent fill indent shorten wrap",
    "time": (
        "altzone asctime ctime daylight gmtime localtime mktime monotonic monotonic_ns "
        "perf_counter perf_counter_ns process_time process_time_ns strftime strptime "
        "struct_time thread_time thread_time_ns time time_ns timezone tzname"
    ),
    "types": "EllipsisType GenericAlias NoneType NotImplementedType UnionType",
    "typing": (
        "AbstractSet Annotated Any AnyStr AsyncContextManager AsyncGenerator AsyncIterable "
        "AsyncIterator Awaitable BinaryIO Callable ChainMap ClassVar Collection Concatenate "
        "Container ContextManager Coroutine Counter DefaultDict Deque Dict Final FrozenSet "
        "Generator Generic Hashable IO ItemsView Iterable Iterator KeysView List Literal "
        "LiteralString Mapping MappingView Match MutableMapping MutableSequence MutableSet "
        "NamedTuple Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec Pattern "
        "Protocol Required Reversible Self Sequence Set Sized SupportsAbs SupportsBytes "
        "SupportsComplex SupportsFloat SupportsIndex SupportsInt SupportsRound TYPE_CHECKING "
        "Text TextIO Tuple Type TypeAlias TypeGuard TypeVar TypeVarTuple TypedDict Union "
        "Unpack ValuesView assert_never assert_type cast final is_typeddict overload "
        "runtime_checkable"
    ),
    "tomllib": "TOMLDecodeError load loads",
    "unicodedata": (
        "bidirectional category combining decimal decomposition digit east_asian_width "
        "is_normalized lookup mirrored name normalize numeric unidata_version"
    ),
    "urllib": "parse",
    "urllib.parse": (
        "ParseResult SplitResult parse_qs parse_qsl quote quote_from_bytes quote_plus unquote "
        "unquote_plus unquote_to_bytes urldefrag urlencode urljoin urlparse urlsplit urlunparse "
        "urlunsplit"
    ),
    "uuid": (
        "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 RESERVED_NCS RFC_4122 UUID "
        "uuid3 uuid4 uuid5"
    ),
    "zlib": (
        "DEFLATED DEF_BUF_SIZE DEF_MEM_LEVEL MAX_WBITS Z_BEST_COMPRESSION Z_BEST_SPEED Z_BLOCK "
        "Z_DEFAULT_COMPRESSION Z_DEFAULT_STRATEGY Z_FILTERED Z_FINISH Z_FIXED Z_FULL_FLUSH "
        "Z_HUFFMAN_ONLY Z_NO_COMPRESSION Z_NO_FLUSH Z_PARTIAL_FLUSH Z_RLE Z_SYNC_FLUSH Z_TREES "
        "adler32 compress compressobj crc32 decompress decompressobj error"
    ),
}

# Names that versions of Python after the oldest supported one have added.
NEWER_NAMES: dict[str, str] = {
    "base64": "z85decode z85encode",
    "calendar": (
        "APRIL AUGUST DECEMBER Day FEBRUARY JANUARY JULY JUNE MARCH MAY Month NOVEMBER OCTOBER "
        "SEPTEMBER"
    ),
    "collections.abc": "Buffer",
    "copy": "replace",
    "csv": "QUOTE_NOTNULL QUOTE_STRINGS",
    "decimal": "IEEEContext IEEE_CONTEXT_MAX_BITS",
    "fnmatch": "filterfalse",
    "functools": "Placeholder",
    "heapq": "heapify_max heappop_max heappush_max heappushpop_max heapreplace_max",
    "io": "Reader Writer",
    "itertools": "batched",
    "math": "fma sumprod",
    "operator": "is_none is_not_none",
    "os.path": "splitroot",
    "posixpath": "splitroot",
    "random": "binomialvariate",
    "re": "PatternError",
    "statistics": "kde kde_random",
    "string": "templatelib",
    "typing": ("NoDefault ReadOnly TypeAliasType TypeIs get_protocol_members is_protocol override"),
    "uuid": "MAX NIL uuid7 uuid8",
}

if sys.version_info >= (3, 14):
    FACADES["string.templatelib"] = "Interpolation Template convert"


def offered_names(module: str, real: object) -> list[str]:
    """The names of a module that user space gets; of newer ones those that `real` has."""
    newer = [name for name in NEWER_NAMES.get(module, "").split() if hasattr(real, name)]
    return FACADES[module].split() + newer


# Loaded at start-up, because the interpreter imports them on first use: for huge integers, for
# `strptime`, and for annotations with names that are not defined (from Python 3.14 on).
ON_DEMAND = "_ast_unparse _pylong _strptime"

# The encodings of `str.encode` and `bytes.decode`; these are also modules imported on first use.
ENCODINGS = (
    "ascii cp1250 cp1251 cp1252 cp437 idna iso8859-1 iso8859-15 iso8859-2 punycode "
    "raw_unicode_escape shift_jis unicode_escape utf-16 utf-16-be utf-16-le utf-32 utf-32-be "
    "utf-32-le utf-8 utf-8-sig"
)

# The capability that the message of a refused import suggests, next to the available modules.
MODULE_ALTERNATIVES: dict[str, str] = {
    "aiofiles": "files.read",
    "aiohttp": "web.fetch",
    "glob": "files.list",
    "http": "web.fetch",
    "httpx": "web.fetch",
    "requests": "web.fetch",
    "shutil": "files.write",
    "socket": "web.fetch",
    "tempfile": "files.write",
    "urllib": "web.fetch",
    "urllib3": "web.fetch",
}

# The capability that the message about a name that a facade lacks suggests.
NAME_ALTERNATIVES: dict[str, str] = {
    "io.FileIO": "files.read",
    "io.open": "files.read",
    "logging.FileHandler": "files.write",
    "os.listdir": "files.list",
    "os.lstat": "files.stat",
    "os.makedirs": "files.write",
    "os.mkdir": "files.write",
    "os.open": "files.read",
    "os.path.exists": "files.stat",
    "os.path.getmtime": "files.stat",
    "os.path.getsize": "files.stat",
    "os.path.isdir": "files.stat",
    "os.path.isfile": "files.stat",
    "os.remove": "files.delete",
    "os.rename": "files.move",
    "os.renames": "files.move",
    "os.replace": "files.move",
    "os.rmdir": "files.delete",
    "os.scandir": "files.list",
    "os.stat": "files.stat",
    "os.unlink": "files.delete",
    "os.walk": "files.list",
    "pathlib.Path": "files.read",
    "pathlib.PosixPath": "files.read",
    "urllib.request": "web.fetch",
}
