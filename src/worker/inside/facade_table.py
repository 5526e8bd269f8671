"""(4) Which names of which modules user space may import. Nothing here leads to a module, a file,
the network, or to code made from strings.

Left out on purpose, among others: `operator.attrgetter` and `methodcaller`,
`typing.get_type_hints` and `get_origin`, `dataclasses.make_dataclass`, `string.Formatter` and
`Template`, `uuid.uuid1`, `random.SystemRandom`. What user space gets in another form is in
`stand_ins`.
"""

from __future__ import annotations

FACADES: dict[str, str] = {
    "abc": "ABC abstractmethod",
    "base64": (
        "b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode "
        "standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode"
    ),
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "cmath": (
        "acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf "
        "isnan log log10 nan nanj phase pi polar rect sin sinh sqrt tan tanh tau"
    ),
    "collections": "ChainMap Counter OrderedDict defaultdict deque",
    "contextlib": "ExitStack asynccontextmanager closing contextmanager nullcontext suppress",
    "copy": "copy deepcopy",
    "dataclasses": (
        "FrozenInstanceError KW_ONLY MISSING asdict astuple dataclass field fields "
        "is_dataclass replace"
    ),
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "decimal": (
        "Context Decimal DecimalException DivisionByZero InvalidOperation ROUND_CEILING "
        "ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP "
        "getcontext localcontext setcontext"
    ),
    "enum": "Enum Flag IntEnum IntFlag StrEnum auto unique",
    "fractions": "Fraction",
    "functools": "cache cached_property cmp_to_key lru_cache partial reduce total_ordering",
    "hashlib": (
        "blake2b blake2s md5 sha1 sha224 sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512"
    ),
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "itertools": (
        "accumulate chain combinations combinations_with_replacement compress count cycle "
        "dropwhile filterfalse groupby islice pairwise permutations product repeat "
        "starmap takewhile tee zip_longest"
    ),
    "json": "JSONDecodeError JSONEncoder dumps loads",
    "math": (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees "
        "dist e erf erfc exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd "
        "hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p "
        "log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan "
        "tanh tau trunc ulp"
    ),
    "operator": (
        "abs add and_ concat contains countOf delitem eq floordiv ge getitem gt iadd iand "
        "imul index indexOf inv invert ior is_ is_not isub itemgetter ixor le lshift lt "
        "matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor"
    ),
    "random": (
        "Random betavariate choice choices expovariate gammavariate gauss getrandbits "
        "lognormvariate normalvariate paretovariate randbytes randint random randrange "
        "sample seed shuffle triangular uniform vonmisesvariate weibullvariate"
    ),
    "re": (
        "A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern S U UNICODE VERBOSE "
        "X compile error escape findall finditer fullmatch match search split sub subn"
    ),
    "statistics": (
        "StatisticsError correlation covariance fmean geometric_mean harmonic_mean "
        "linear_regression mean median median_grouped median_high median_low mode "
        "multimode pstdev pvariance quantiles stdev variance"
    ),
    "string": (
        "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits "
        "octdigits printable punctuation whitespace"
    ),
    "textwrap": "dedent fill indent shorten wrap",
    "time": "gmtime monotonic monotonic_ns perf_counter perf_counter_ns strftime time time_ns",
    "typing": (
        "Annotated Any AnyStr AsyncIterable AsyncIterator Awaitable Callable ClassVar Collection "
        "Coroutine DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable Iterable "
        "Iterator List Literal Mapping MutableMapping MutableSequence NamedTuple NewType "
        "NoReturn NotRequired Optional Protocol Required Self Sequence Set Sized SupportsFloat "
        "SupportsInt TYPE_CHECKING Tuple Type TypeAlias TypeVar TypedDict Union cast overload "
        "runtime_checkable"
    ),
    "uuid": "NAMESPACE_DNS NAMESPACE_URL UUID uuid3 uuid4 uuid5",
}

# Loaded at start-up because the interpreter imports them on first use: for `strptime`, for huge
# integers, for coroutines that were never awaited.
ON_DEMAND = "_pylong _strptime warnings"

# Encodings that `str.encode` and `bytes.decode` know; they, too, are modules imported on first use.
ENCODINGS = (
    "ascii cp1250 cp1251 cp1252 cp437 idna iso8859-1 iso8859-15 iso8859-2 punycode "
    "raw_unicode_escape shift_jis unicode_escape utf-16 utf-16-be utf-16-le utf-32 utf-32-be "
    "utf-32-le utf-8 utf-8-sig"
)

# What a refused import is told beside the list of what there is.
INSTEAD: dict[str, str] = {
    "aiohttp": "web.fetch",
    "glob": "files.list",
    "http": "web.fetch",
    "httpx": "web.fetch",
    "io": "files.read",
    "os": "files.list",
    "pathlib": "files.read",
    "requests": "web.fetch",
    "shutil": "files.write",
    "socket": "web.fetch",
    "tempfile": "files.write",
    "urllib": "web.fetch",
}
