# Runs in the sandbox, in front of a test file of CPython: what the file needs of `test.support`, and
# the loop that runs the tests one by one. `support/cpython/` joins the parts.
import contextlib
import datetime as datetime
import gc as gc_
import io
import json
import sys
import types
import unittest
import warnings

# The modules that the file asks `import_helper` for, and what of them has a second form in C.
modules_ = {}


class RefusedError(Exception):
    """The language layer refused the source of this test."""


# The refusals that the running test has met: it may catch their errors.
refusals_ = []


def refused_(message):
    refusals_.append(message)
    raise RefusedError(message)


def ignore_(*_args, **_kwargs):
    """Stands in for a function that only resets the interpreter after a test."""


def temporary_file_(*_args, newline=None, **_kwargs):
    return io.StringIO(newline=newline)


def member_type_(cls):
    """`_member_type_` of an enum."""
    kinds = (str, bytes, int, float, complex, tuple, list, datetime.date)
    return next((kind for kind in kinds if issubclass(cls, kind)), object)


@property
def default_interpolation_(case):
    """What a parser of the kind that a test uses has if it is given no interpolation."""
    import configparser

    if case.config_class is configparser.RawConfigParser:
        return configparser.Interpolation()
    return configparser.BasicInterpolation()


class _Absent:
    """A module without its accelerator: what has one, the sandbox has in one form only."""

    def __init__(self, module, accelerated):
        self._module, self._accelerated = module, accelerated

    def __bool__(self):
        return False

    def __getattr__(self, name):
        if name in self._accelerated:
            raise unittest.SkipTest(f"there is one implementation of `{name}` here")
        return getattr(self._module, name)


def _absent(*_args, **_kwargs):
    raise unittest.SkipTest("it needs another process, a file or the network")


def _skip(reason):
    return lambda *_args, **_kwargs: unittest.skip(reason)


def _same(test):
    return test


class _Equal:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False


class _Unequal:
    def __eq__(self, other):
        return False

    def __ne__(self, other):
        return True

    def __hash__(self):
        return 1


class _Largest:
    def __eq__(self, other):
        return isinstance(other, _Largest)

    def __lt__(self, other):
        return False

    def __le__(self, other):
        return isinstance(other, _Largest)

    def __gt__(self, other):
        return not isinstance(other, _Largest)

    def __ge__(self, other):
        return True


class _Smallest:
    def __eq__(self, other):
        return isinstance(other, _Smallest)

    def __gt__(self, other):
        return False

    def __ge__(self, other):
        return isinstance(other, _Smallest)

    def __lt__(self, other):
        return not isinstance(other, _Smallest)

    def __le__(self, other):
        return True


@contextlib.contextmanager
def _captured(name):
    saved, caught = getattr(sys, name), io.StringIO()
    setattr(sys, name, caught)
    try:
        yield caught
    finally:
        setattr(sys, name, saved)


@contextlib.contextmanager
def _swap_attr(obj, name, new):
    had, old = hasattr(obj, name), getattr(obj, name, None)
    setattr(obj, name, new)
    try:
        yield old
    finally:
        if had:
            setattr(obj, name, old)
        else:
            delattr(obj, name)


@contextlib.contextmanager
def _swap_item(obj, item, new):
    had, old = item in obj, obj[item] if item in obj else None
    obj[item] = new
    try:
        yield old
    finally:
        if had:
            obj[item] = old
        else:
            del obj[item]


@contextlib.contextmanager
def _unlimited(max_depth=None):
    yield


def _fresh_module(name, fresh=(), blocked=(), deprecated=False):
    module, accelerated = modules_.get(name, (None, ()))
    return _Absent(module, accelerated) if blocked else module


def _module(name, deprecated=False, required_on=()):
    if name not in modules_:
        raise unittest.SkipTest(f"there is no module `{name}` here")
    return modules_[name][0]


def _check_syntax_error(case, statement, errtext="", *, lineno=None, offset=None):
    with case.assertRaisesRegex(SyntaxError, errtext):
        exec(statement, {})


def _run_code(code, extra_names=None):
    names = dict(extra_names or {})
    exec(code, names)
    return names


def _run_no_yield(function, /, *args, **kwargs):
    """The result of a coroutine that waits for nothing."""
    coroutine = function(*args, **kwargs)
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coroutine.close()
    raise AssertionError("the coroutine waits")


def _run_yielding(function, /, *args, **kwargs):
    """The result of a coroutine; what it waits for is ignored."""
    coroutine = function(*args, **kwargs)
    try:
        while True:
            try:
                coroutine.send(None)
            except StopIteration as end:
                return end.value
    finally:
        coroutine.close()


def _check_free_after_iterating(case, iter_, cls, args=()):
    raise unittest.SkipTest("it needs `__del__`")


@contextlib.contextmanager
def _check_warnings(*filters, quiet=True):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield types.SimpleNamespace(warnings=caught)
    for message, category in filters:
        import re

        found = [
            one
            for one in caught
            if issubclass(one.category, category) and re.match(message, str(one.message), re.I)
        ]
        if not found and not quiet:
            raise AssertionError(f"no warning matches ({message!r}, {category.__name__})")


def _ignore_warnings(*, category):
    def decorate(test):
        def run(self, *args, **kwargs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", category=category)
                return test(self, *args, **kwargs)

        return run

    return decorate


def _requires(reason):
    """A condition that does not hold, as a decorator with or without a call."""

    def require(*args, **_kwargs):
        mark = unittest.skip(reason)
        return mark(args[0]) if args and callable(args[0]) else mark

    return require


def _fulfilled(*args, **_kwargs):
    return args[0] if args and callable(args[0]) else _same


class _ImportHelper:
    import_fresh_module = staticmethod(_fresh_module)
    import_module = staticmethod(_module)


class _ScriptHelper:
    assert_python_ok = assert_python_failure = staticmethod(_absent)
    run_python_until_end = spawn_python = kill_python = staticmethod(_absent)


class _OsHelper:
    TESTFN = "@test_file"
    unlink = temp_dir = temp_cwd = rmtree = create_empty_file = staticmethod(_absent)
    EnvironmentVarGuard = staticmethod(_absent)


class _WarningsHelper:
    check_warnings = staticmethod(_check_warnings)
    ignore_warnings = staticmethod(_ignore_warnings)


class _ThreadingHelper:
    requires_working_threading = staticmethod(_requires("there is one thread here"))
    reap_threads = staticmethod(_same)
    start_threads = staticmethod(_absent)


class test_support_:
    """`test.support`."""

    ALWAYS_EQ, NEVER_EQ, LARGEST, SMALLEST = _Equal(), _Unequal(), _Largest(), _Smallest()
    MAX_Py_ssize_t = sys.maxsize
    _1M, _1G, _2G, _4G = 1 << 20, 1 << 30, 1 << 31, 1 << 32
    SHORT_TIMEOUT, LONG_TIMEOUT, LOOPBACK_TIMEOUT = 30.0, 300.0, 5.0
    TestFailed = AssertionError
    is_android = is_emscripten = is_wasi = verbose = False
    has_strftime_extensions = True
    import_helper, script_helper, os_helper = _ImportHelper, _ScriptHelper, _OsHelper
    warnings_helper, threading_helper = _WarningsHelper, _ThreadingHelper
    swap_attr, swap_item = staticmethod(_swap_attr), staticmethod(_swap_item)
    infinite_recursion = adjust_int_max_str_digits = staticmethod(_unlimited)
    check_syntax_error = staticmethod(_check_syntax_error)
    check_free_after_iterating = staticmethod(_check_free_after_iterating)
    run_code = staticmethod(_run_code)
    run_no_yield_async_fn = staticmethod(_run_no_yield)
    run_yielding_async_fn = staticmethod(_run_yielding)
    captured_stdout = staticmethod(lambda: _captured("stdout"))
    captured_stderr = staticmethod(lambda: _captured("stderr"))
    captured_output = staticmethod(_captured)
    check_impl_detail = staticmethod(lambda **guards: guards.get("cpython", not guards))
    is_resource_enabled = staticmethod(lambda resource: False)
    gc_collect = staticmethod(gc_.collect)
    get_attribute = staticmethod(getattr)
    cpython_only = requires_IEEE_754 = requires_docstrings = staticmethod(_fulfilled)
    impl_detail = reap_children = staticmethod(_fulfilled)
    force_not_colorized = force_not_colorized_test_class = staticmethod(_fulfilled)
    thread_unsafe = staticmethod(_fulfilled)
    skip_if_buggy_ucrt_strfptime = skip_if_pgo_task = staticmethod(_fulfilled)
    bigmemtest = bigaddrspacetest = staticmethod(_requires("it needs gigabytes"))
    requires_resource = staticmethod(_requires("the resource is not enabled"))
    requires_fork = requires_subprocess = staticmethod(_requires("there is one process here"))
    requires_working_socket = staticmethod(_requires("there is no network here"))
    requires_legacy_unicode_capi = refcount_test = staticmethod(_requires("it tests the C API"))
    run_with_locale = run_with_tz = staticmethod(_skip("there is one locale and time zone here"))
    check_sizeof = calcobjsize = calcvobjsize = staticmethod(_absent)
    findfile = check__all__ = check_disallow_instantiation = staticmethod(_absent)
    catch_unraisable_exception = staticmethod(_absent)


class test_package_:
    """The package `test`."""

    support = test_support_


# What went wrong while the file was read, by the line of the statement.
problems_ = []
_write = sys.stdout.write


def note_(what, error):
    """A statement at the top of the file, or in a class of tests, has failed."""
    skipped = isinstance(error, unittest.SkipTest)
    problems_.append((what, skipped, f"{type(error).__name__}: {error}"))


# What went wrong in the `setUp` of the running test.
_set_up_problems = []


def note_set_up_(_what, error):
    """A statement of a `setUp` has failed: a test that needs it will fail, too."""
    if isinstance(error, unittest.SkipTest):
        raise error
    refusals_.clear()
    _set_up_problems.append(f"{type(error).__name__}: {error}")


class _Result(unittest.TestResult):
    """Keeps the first error of a test itself, not its text."""

    def __init__(self):
        super().__init__()
        self.first = None

    def note(self, test, error):
        self.first = self.first or error
        super().note(test, error)


def _tell(**line):
    _write(json.dumps(line) + "\n")


def _run_test(cls, name):
    test = f"{cls.__qualname__}.{name}"
    _tell(start=test)
    result = _Result()
    refusals_.clear()
    _set_up_problems.clear()
    try:
        cls(name).run(result)
    except BaseException as error:
        result.note(test, error)
    while isinstance(result.first, BaseExceptionGroup):
        result.first = result.first.exceptions[0]
    if refusals_:
        _tell(test=test, outcome="refused", reason=refusals_[0])
    elif result.first is not None and _set_up_problems:
        _tell(test=test, outcome="raised", reason=f"setUp: {_set_up_problems[0]}"[:500])
    elif result.first is not None:
        kind = "failed" if isinstance(result.first, AssertionError) else "raised"
        reason = f"{type(result.first).__name__}: {result.first}"
        problems = result.failures + result.errors
        _tell(test=test, outcome=kind, reason=reason[:500], details=problems[0][1][-3000:])
    elif result.unexpectedSuccesses:
        _tell(test=test, outcome="failed", reason="an expected failure has passed")
    elif result.skipped:
        _tell(test=test, outcome="skipped", reason=str(result.skipped[0][1])[:500])
    else:
        _tell(test=test, outcome="passed", reason="")


def _run_class(name, skipped_tests):
    cls = globals().get(name)
    if cls is None:
        found = [one for one in problems_ if one[0] == name]
        if not found:
            return  # not a class
        outcome = "skipped" if found[0][1] else "raised"
        _tell(test=f"{name}.*", outcome=outcome, reason=found[0][2][:500])
        return
    if not isinstance(cls, type) or not issubclass(cls, unittest.TestCase):
        return
    kinds = {kind.__name__ for kind in cls.__mro__}
    for what, skipped, reason in problems_:
        if skipped and what in kinds:
            _tell(test=f"{name}.*", outcome="skipped", reason=reason[:500])
            return
    names = unittest.defaultTestLoader.getTestCaseNames(cls)
    names = [one for one in names if f"{cls.__qualname__}.{one}" not in skipped_tests]
    try:
        if names:
            cls.setUpClass()
    except BaseException as error:
        skipped = isinstance(error, unittest.SkipTest)
        reason = f"{type(error).__name__}: {error}"[:500]
        _tell(test=f"{name}.*", outcome="skipped" if skipped else "raised", reason=reason)
        return
    for one in names:
        _run_test(cls, one)
    if names:
        cls.tearDownClass()


def run_all_(names, skipped_tests):
    """Run the tests of these classes, one by one; say before and after each how it goes."""
    try:
        globals().get("setUpModule", ignore_)()
    except BaseException as error:
        note_("setUpModule", error)
    for name in names:
        _run_class(name, skipped_tests)
    _tell(end=True)
