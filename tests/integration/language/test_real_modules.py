"""Real modules that a policy grants, on real workers: what code finds, and what the log says."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from caps import (
    MemoryAuditLog,
    PolicyInvalidError,
    RegistrationError,
    Runtime,
)
from caps.protocol.enforcement import Enforcement
from caps.security.audit import (
    ExecutionStarted,
    PolicyLoaded,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.worker.host.zygote.source import ForkedWorker

NUMPY = {"id": "numerical", "modules": ["numpy"]}
MISSING = {"id": "missing", "modules": ["idna", "not_installed_anywhere"]}


@pytest.fixture(scope="module")
def audit() -> MemoryAuditLog:
    return MemoryAuditLog()


@pytest.fixture(scope="module")
def runtime(audit: MemoryAuditLog) -> Iterator[Runtime]:
    """One runtime whose own policy grants numpy, and nothing else."""
    with Runtime(NUMPY, audit=audit) as runtime:
        yield runtime


class TestNumpy:
    def test_beside_real_modules_every_private_name_is_guarded(self, runtime: Runtime) -> None:
        """They may have any attributes; without them a name may be used by no library."""
        source = "from collections import deque\ndeque()._unheard_of"
        beside = runtime.run_sync(source)
        alone = runtime.run_sync(source, policy={"id": "alone", "allow": []})
        assert beside.error is not None
        assert alone.error is not None
        assert "has no private attributes" in beside.error.message
        assert "has no attribute `_unheard_of`" in alone.error.message.replace("'", "`")

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("import numpy\nnumpy.arange(3).tolist()", [0, 1, 2]),
            ("import numpy as np\nnp.arange(3).tolist()", [0, 1, 2]),
            ("from numpy import array\narray([1, 2]).tolist()", [1, 2]),
            ("import numpy.linalg\nnumpy.linalg.det([[2.0, 0], [0, 3]])", 6.0),
            ("import numpy.linalg as la\nla.norm([3.0, 4.0])", 5.0),
            ("from numpy.linalg import norm\nnorm([3.0, 4.0])", 5.0),
            ("from numpy import linalg, random, fft\nlinalg.norm([3.0, 4.0])", 5.0),
        ],
    )
    def test_every_form_of_import_gives_the_real_one(
        self, runtime: Runtime, source: str, expected: Any
    ) -> None:
        """As anywhere else."""
        assert runtime.run_sync(source).unwrap() == expected

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("a.shape, a.T.shape, a.dtype.name", ((2, 3), (3, 2), "float64")),
            ("a[0, 1].item(), a[:, 0].tolist(), a[a > 3].tolist()", (1.0, [0.0, 3.0], [4.0, 5.0])),
            ("(a + 1).tolist(), (a @ a.T).tolist()", ([[1, 2, 3], [4, 5, 6]], [[5, 14], [14, 50]])),
            ("float(a.sum()), float(a.mean()), float(np.var([1, 3]))", (15.0, 2.5, 1.0)),
            ("float((np.ones((300, 300)) @ np.ones((300, 300))).sum())", 27_000_000.0),
            ("float(np.dot([1, 2], [3, 4])), float(np.median(a))", (11.0, 2.5)),
            ("np.linalg.inv(2 * np.eye(2)).tolist()", [[0.5, 0], [0, 0.5]]),
            ("np.linalg.solve([[2.0, 0], [0, 4]], [2, 4]).tolist()", [1, 1]),
            ("np.linalg.svd(np.eye(3))[1].tolist()", [1, 1, 1]),
            ("np.abs(np.fft.fft([1, 0, 0, 0])).tolist()", [1, 1, 1, 1]),
            ("np.random.default_rng(7).integers(10, size=3).shape", (3,)),
            ("np.random.seed(1), round(np.random.rand(), 6)", (None, 0.417022)),
            ("np.polynomial.Polynomial([1, 2])(3)", 7.0),
            ("np.unique([2, 1, 2]).tolist(), np.where(a > 3)[1].tolist()", ([1, 2], [1, 2])),
            ("np.vectorize(lambda x: x * 2)(a).tolist()", [[0, 2, 4], [6, 8, 10]]),
            ("np.ma.array([1, 2], mask=[0, 1]).sum().item()", 1),
            ("str(np.datetime64('2024-02-28') + np.timedelta64(1, 'D'))", "2024-02-29"),
            ("np.loadtxt(['1 2', '3 4']).tolist()", [[1, 2], [3, 4]]),
            ("type(a) is np.ndarray, isinstance(a, np.ndarray)", (True, True)),
            ("str(a[0, 1]), f'{a[0, 1]:.2f}', repr(a[0, :1])", ("1.0", "1.00", "array([0.])")),
            ("hasattr(np, 'array'), getattr(np, 'pi') > 3, 'array' in dir(np)", (True, True, True)),
        ],
    )  # fmt: skip
    def test_its_usual_things_work(self, runtime: Runtime, expression: str, expected: Any) -> None:
        """Under every kernel layer, and within the memory of the default policy."""
        source = f"import numpy as np\na = np.arange(6.0).reshape(2, 3)\n({expression})"
        assert runtime.run_sync(source).unwrap() == expected

    def test_arrays_are_printed(self, runtime: Runtime) -> None:
        """As everybody knows them."""
        result = runtime.run_sync("import numpy as np\nprint(np.eye(2), np.float64(0.5))")
        assert result.stdout == "[[1. 0.]\n [0. 1.]] 0.5\n"

    def test_an_array_crosses_as_its_repr(self, runtime: Runtime) -> None:
        """`tolist` and `item` make data of it; a float64 is a float."""
        result = runtime.run_sync("import numpy as np\nnp.arange(2)")
        assert (result.value, result.value_is_repr) == ("array([0, 1])", True)
        result = runtime.run_sync("import numpy as np\nnp.float64(0.5)")
        assert (result.value, result.value_is_repr) == (0.5, False)

    def test_its_errors_are_the_users(self, runtime: Runtime) -> None:
        """Caught by their class, or reported with the user's line and none of the library's."""
        caught = """
import numpy as np
try:
    np.linalg.inv(np.zeros((2, 2)))
except np.linalg.LinAlgError as error:
    told = str(error)
told
"""
        assert runtime.run_sync(caught).unwrap() == "Singular matrix"
        error = runtime.run_sync("import numpy as np\nx = 1\nnp.array([1, 2]) @ np.eye(3)").error
        assert error is not None
        assert (error.type, error.line) == ("ValueError", 3)
        assert "site-packages" not in error.traceback

    def test_memory_that_ran_out_is_the_limit(self, runtime: Runtime) -> None:
        """An error of the code, that names the limit by its status."""
        result = runtime.run_sync("import numpy as np\nnp.ones(10**9)")
        assert (result.status.value, result.error and result.error.type) == ("limit", "MemoryError")

    def test_two_executions_do_not_draw_the_same_numbers(self, runtime: Runtime) -> None:
        """Workers are forks of one zygote, but each has its own seed."""
        source = "import numpy as np\nnp.random.rand(4).tolist()"
        drawn = [tuple(runtime.run_sync(source).unwrap()) for _ in range(4)]
        assert len(set(drawn)) == 4

    def test_what_was_not_loaded_is_not_there(self, runtime: Runtime) -> None:
        """Nothing can be imported in a worker, also not from what is granted."""
        result = runtime.run_sync("import numpy.tests")
        assert result.error is not None
        assert "`numpy.tests` cannot be imported here" in result.error.message


class TestTheLanguage:
    @pytest.mark.parametrize(
        ("source", "told"),
        [
            ("import numpy\nnumpy.__dict__['os']", "does not show its `__dict__`"),
            ("import numpy\nnumpy.__loader__", "reaches into the interpreter"),
            ("import numpy\nnumpy._core", "no private attributes"),
            ("import numpy\ngetattr(numpy, '_core')", "no private attributes"),
            ("from numpy import _core", "private to its module"),
            ("import numpy._core", "cannot be imported here"),
            ("import os\nos.system('true')", "has no attribute 'system' here"),
            ("import ctypes", "cannot be imported here"),
            ("import idna", "cannot be imported here"),
        ],
    )
    def test_still_refuses_what_it_refuses_elsewhere(
        self, runtime: Runtime, source: str, told: str
    ) -> None:
        """It guarantees nothing here, but still gives honest code good errors."""
        error = runtime.run_sync(source).error
        assert error is not None
        assert told in error.message

    def test_a_refused_import_lists_what_is_granted(self, runtime: Runtime) -> None:
        """In addition to the facades, and without the submodules of each."""
        error = runtime.run_sync("import pandas").error
        assert error is not None
        assert ", numpy, " in error.message
        assert "numpy.linalg" not in error.message

    def test_a_missing_name_is_told_without_the_file_of_the_host(self, runtime: Runtime) -> None:
        """CPython's own text has the path of the module."""
        error = runtime.run_sync("from numpy import arrray").error
        assert error is not None
        assert error.message == (
            "cannot import name 'arrray' from 'numpy' here; did you mean `array`?"
        )

    def test_without_the_grant_there_is_none_of_it(self, runtime: Runtime) -> None:
        """Another policy, another zygote."""
        error = runtime.run_sync("import numpy", policy={}).error
        assert error is not None
        assert "`numpy` cannot be imported here" in error.message

    def test_it_is_reported_as_holding_in_part_and_refuses_nothing(self, runtime: Runtime) -> None:
        """The policy granted it; nothing is degraded."""
        layers = {layer.name: layer for layer in runtime.layers}
        assert layers.pop("language").enforcement is Enforcement.PARTIALLY
        assert {layer.enforcement for layer in layers.values()} == {Enforcement.FULLY}
        assert runtime.degraded is None


class TestTheLog:
    def test_says_which_modules_were_granted(self, runtime: Runtime, audit: MemoryAuditLog) -> None:
        """And that the language layer held in part, for this execution alone."""
        runtime.run_sync("1")
        runtime.run_sync("1", policy={"id": "plain"})
        with_modules, without = [e for e in audit.events if isinstance(e, ExecutionStarted)][-2:]
        assert (with_modules.modules, without.modules) == (["numpy"], [])
        assert with_modules.isolation["language"] == "partially"
        assert without.isolation["language"] == "fully"
        assert (with_modules.degraded, without.degraded) == (None, None)

    def test_says_it_within_the_chain(self, tmp_path: Path) -> None:
        """Removing it from the file is an edit of the log."""
        with Runtime({"modules": ["idna"]}, audit=tmp_path) as runtime:
            runtime.run_sync("1")
        assert verify_log(tmp_path).status is VerifyStatus.OK
        started = [r.event for r in read_records(tmp_path) if isinstance(r.event, ExecutionStarted)]
        assert [event.modules for event in started] == [["idna"]]
        field = '"modules":["idna"],'
        (segment,) = (path for path in tmp_path.glob("*.jsonl") if field in path.read_text())
        segment.write_text(segment.read_text().replace(field, ""))
        assert verify_log(tmp_path).status is VerifyStatus.EDITED


class TestAModuleThatIsMissing:
    def test_refuses_to_open_and_is_recorded(self) -> None:
        """One line: which policy, which module, where, and why."""
        audit = MemoryAuditLog()
        with pytest.raises(PolicyInvalidError) as caught, Runtime(MISSING, audit=audit):
            pass
        message = caught.value.message
        assert message.startswith("policy `dict`: module `not_installed_anywhere` cannot be")
        assert "No module named 'not_installed_anywhere' at modules;" in message
        assert "\n" not in message
        (loaded,) = [event for event in audit.events if isinstance(event, PolicyLoaded)]
        assert (loaded.status, loaded.message) == ("refused", message)

    @pytest.mark.anyio
    async def test_is_told_by_bind_run_and_session(self) -> None:
        """For a policy that is not the runtime's own; the runtime continues."""
        audit = MemoryAuditLog()
        async with Runtime({}, audit=audit) as runtime:
            with pytest.raises(PolicyInvalidError, match="not_installed_anywhere"):
                await runtime.bind(MISSING, replace=True)
            with pytest.raises(PolicyInvalidError, match="not_installed_anywhere"):
                await runtime.run("1", policy=MISSING, replace=True)
            with pytest.raises(PolicyInvalidError, match="not_installed_anywhere"):
                async with runtime.session(policy=MISSING, replace=True):
                    pass
            assert (await runtime.run("1 + 1")).value == 2
        loaded = [event.status for event in audit.events if isinstance(event, PolicyLoaded)]
        assert loaded == ["accepted", *["refused"] * 3]
        assert [e.policy_id for e in audit.events if isinstance(e, ExecutionStarted)] == ["unnamed"]


@pytest.fixture
async def plain() -> AsyncIterator[Runtime]:
    """A runtime whose own policy grants no module."""
    async with Runtime({}, audit=MemoryAuditLog()) as runtime:
        yield runtime


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
class TestOtherPolicies:
    async def test_each_has_its_own_modules(self, plain: Runtime) -> None:
        """Side by side in one runtime; none finds what another was granted."""
        probe = """
found = []
try:
    import idna
    found.append(idna.encode("bücher.example").decode())
except ImportError:
    pass
try:
    import packaging.version
    found.append(str(packaging.version.Version("1.0") < packaging.version.Version("1.1")))
except ImportError:
    pass
found
"""
        policies: dict[tuple[str, ...], dict[str, Any]] = {
            (): {},
            ("xn--bcher-kva.example",): {"modules": ["idna"]},
            ("True",): {"modules": ["packaging"]},
            ("xn--bcher-kva.example", "True"): {"modules": ["packaging", "idna"]},
        }
        found: dict[tuple[str, ...], list[str]] = {}

        async def run(expected: tuple[str, ...]) -> None:
            found[expected] = (
                await plain.run(probe, policy=policies[expected], replace=True)
            ).unwrap()

        async with anyio.create_task_group() as tasks:
            for expected in policies:
                tasks.start_soon(run, expected)
        assert {expected: tuple(held) for expected, held in found.items()} == {
            expected: expected for expected in policies
        }

    async def test_a_session_keeps_its_modules(self, plain: Runtime) -> None:
        """From cell to cell, and the records of all of them say so."""
        async with plain.session(policy={"modules": ["idna"]}, replace=True) as session:
            await session.run("import idna")
            result = await session.run("idna.decode('xn--bcher-kva.example')")
        assert result.unwrap() == "bücher.example"

    async def test_a_stream_has_them_too(self, plain: Runtime) -> None:
        """The last event holds the result."""
        source = "import idna\nidna.encode('a.example')"
        policy = {"modules": ["idna"]}
        stream = plain.stream(source, policy=policy, replace=True)
        events = [event async for event in stream]
        assert events[-1].result.unwrap() == b"a.example"  # type: ignore[union-attr]

    async def test_a_namespace_and_a_module_cannot_share_a_name(self) -> None:
        """One would hide the other silently."""
        async with Runtime({}, audit=MemoryAuditLog(), namespace="idna") as runtime:
            with pytest.raises(RegistrationError, match="the policy grants the module"):
                await runtime.run("1", policy={"modules": ["idna"]}, replace=True)


@pytest.mark.anyio
async def test_a_zygote_with_modules_that_dies_is_replaced() -> None:
    """The next execution finds the modules again."""
    async with Runtime({"modules": ["idna"]}, audit=MemoryAuditLog()) as runtime:
        source = "import idna\nidna.encode('a.example')"
        assert (await runtime.run(source)).ok
        assert runtime._opened is not None
        zygote = runtime._opened.pool._source._zygote  # type: ignore[attr-defined]
        os.kill(zygote.pid, signal.SIGKILL)
        with anyio.fail_after(30):
            while zygote.is_alive:
                await anyio.lowlevel.checkpoint()
        assert (await runtime.run(source)).unwrap() == b"a.example"
        assert runtime._opened.pool._source._zygote is not zygote  # type: ignore[attr-defined]


@pytest.mark.anyio
async def test_a_worker_with_modules_has_one_thread_one_descriptor_and_no_environment() -> None:
    """What the process layer promises does not depend on what was loaded."""
    async with Runtime(NUMPY, audit=MemoryAuditLog()) as runtime:
        assert runtime._opened is not None
        with anyio.fail_after(30):
            while not runtime._opened.pool._stock:
                await anyio.lowlevel.checkpoint()
        worker = next(iter(runtime._opened.pool._stock)).worker
        assert isinstance(worker, ForkedWorker)
        info = Path(f"/proc/self/fdinfo/{worker._pidfd}").read_text()
        pid = next(line.split()[1] for line in info.splitlines() if line.startswith("Pid:"))
        home = Path("/proc") / pid
        assert len(list((home / "task").iterdir())) == 1
        assert [entry.name for entry in (home / "fd").iterdir()] == ["0"]
        assert b"THREADS" not in (home / "environ").read_bytes()
        assert list((home / "root").iterdir()) == []
        assert "Seccomp:\t2" in (home / "status").read_text()
