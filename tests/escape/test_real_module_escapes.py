"""Attacks from a worker that holds a real module: the language layer is lost, the kernel's hold.

A module that is granted leads to other modules (numpy to `os`, `subprocess` and `ctypes`), and code
may walk there. First it does so in the language that it is given; then all attacks of `kernel/` run
as plain Python in workers of such a zygote.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caps import MemoryAuditLog, Runtime
from caps.worker.host.zygote.source import ZygoteSource
from escape.attacks import locked_down
from support.escape_targets import EscapeTargets
from support.kernel_attacks import ATTACKS, KernelAttack, worked

POLICY = {
    "id": "escape",
    "modules": ["numpy"],
    "limits": {"wall_ms": 10_000, "cpu_ms": 1000, "memory_mb": 256},
}

# The last expression is true if it worked.
BY_NUMPY = {
    "reading with fromfile": "np.fromfile(FILE, dtype=np.uint8).size",
    "reading with load": "np.load(FILE, allow_pickle=True)",
    "reading with loadtxt": "np.loadtxt(FILE, dtype=str).size",
    "reading with genfromtxt": "np.genfromtxt(FILE, dtype=str).size",
    "reading with memmap": "np.memmap(FILE, mode='r').size",
    "reading with DataSource": "np.lib.npyio.DataSource().open(FILE).read()",
    "writing with tofile": "np.ones(3).tofile(FILE) is None",
    "writing with save": "np.save(NEW, np.ones(3)) is None",
    "writing with savetxt": "np.savetxt(NEW, np.ones(3)) is None",
    "writing with memmap": "np.memmap(NEW, mode='w+', shape=4).size",
    "reading with the real os": "np.f2py.os.open(FILE, 0) >= 0",
    "listing with the real os": "np.f2py.os.listdir('/')",
    "writing with the real os": "np.f2py.os.open(NEW, 0o101) >= 0",
    "a secret in the environment": "'CAPS_TEST_SECRET' in np.f2py.os.environ",
    "another process": "np.f2py.subprocess.run(['/bin/true']).returncode == 0",
    "a fork": "np.f2py.os.fork() > 0",
    "a signal to the zygote": "np.f2py.os.kill(1, 9) is None",
    "a socket": (
        "(np.f2py.sys.modules.get('socket') or np.f2py.sys.modules['importlib']"
        ".import_module('socket')).create_connection(('127.0.0.1', PORT))"
    ),
    "a pickle that runs a command": (
        "np.load(io.BytesIO(b'cos\\nsystem\\n(S\"true\"\\ntR.'), allow_pickle=True) == 0"
    ),
    "a library of one's own": "np.ctypeslib.load_library('libc', '/lib')",
    "a system call for a file": "np.ctypeslib.ctypes.CDLL(None).open(FILE.encode(), 0) >= 0",
    "a system call for a command": "np.ctypeslib.ctypes.CDLL(None).system(b'true') == 0",
    "a system call for a socket": "np.ctypeslib.ctypes.CDLL(None).socket(2, 1, 0) >= 0",
    "memory to be executed": (
        "(lambda libc: (setattr(libc.mmap, 'restype', np.ctypeslib.ctypes.c_void_p),"
        " libc.mmap(None, 4096, 7, 0x22, -1, 0))[1] not in (None, 2**64 - 1))"
        "(np.ctypeslib.ctypes.CDLL(None))"
    ),
    "the host's code": "'caps.security.policy' in np.f2py.sys.modules",
    "another module": "np.f2py.sys.modules['importlib'].import_module('ftplib')",
}

# Through packages that were prepared: these have files in memory, and functions that refuse.
BY_PACKAGES = {
    "reading a table": "pd.read_csv(FILE).size",
    "reading with the open that knows fonts": "mpl.cbook.gzip.builtins.open(FILE).read()",
    "a path around the fonts": (
        "mpl.cbook.gzip.builtins.open(mpl.get_data_path() + '/fonts/ttf/../../matplotlibrc').read()"
    ),
    "the status of a file": "mpl.cbook.os.stat(FILE).st_size",
    "listing the fonts": "mpl.cbook.os.listdir(mpl.get_data_path())",
    "writing a table": "pd.DataFrame({'a': [1]}).to_csv(NEW) is None",
    "writing a chart": "plt.savefig(NEW) is None",
    "writing to a font": (
        "mpl.cbook.gzip.builtins.open(mpl.font_manager.findfont('DejaVu Sans'), 'r+b').read()"
    ),
    "a request": "requests.get(f'http://127.0.0.1:{PORT}/', timeout=5).ok",
    "a socket of the library in C": (
        "requests.packages.urllib3.connection.socket.SocketType(2, 1, 0).fileno() >= 0"
    ),
    "a process": "mpl.cbook.subprocess.run(['/bin/true']).returncode == 0",
    "a fork": "mpl.cbook.os.fork() > 0",
    "a thread": "mpl.backend_bases.sys.modules['threading'].Thread(target=id).start() is None",
    "all of the machine": "mpl.cbook.os.cpu_count() > 1",
}

# An attack that ends with one of these never got to what it tries.
VACUOUS = ("AttributeError", "KeyError", "NameError", "SourceError", "SyntaxError")


@pytest.fixture(scope="module")
def granted() -> Iterator[Runtime]:
    """Workers as a policy with numpy gives them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAPS_TEST_SECRET", "secret")
        with Runtime(POLICY, audit=MemoryAuditLog()) as runtime:
            yield runtime


@pytest.mark.process
@pytest.mark.parametrize("attack", BY_NUMPY)
def test_numpy_leads_out_of_the_language_and_no_further(
    granted: Runtime, host: EscapeTargets, attack: str
) -> None:
    """Nothing is read, written, started or reached, and the host continues."""
    host.reset()
    file, port = host.facts["file"], host.facts["port"]
    known = f"FILE, NEW, PORT = {file!r}, {f'{file}.new'!r}, {port}"
    source = f"import io\nimport numpy as np\n{known}\nbool({BY_NUMPY[attack]})"
    result = granted.run_sync(source)
    assert not worked(result), f"it worked: {result.value!r}"
    if result.error is not None:
        assert result.error.type not in VACUOUS, result.error
    assert [path.name for path in host.directory.iterdir()] == ["file"]
    assert (host.directory / "file").read_text() == host.facts["secret"]


@pytest.fixture(scope="module")
def prepared() -> Iterator[Runtime]:
    """Workers with packages that the zygote prepares."""
    policy = {**POLICY, "modules": ["matplotlib", "pandas", "requests"]}
    with Runtime(policy, audit=MemoryAuditLog()) as runtime:
        yield runtime


@pytest.mark.process
@pytest.mark.parametrize("attack", BY_PACKAGES)
def test_a_prepared_package_leads_no_further(
    prepared: Runtime, host: EscapeTargets, attack: str
) -> None:
    """What was read before confinement is all that there is."""
    host.reset()
    file, port = host.facts["file"], host.facts["port"]
    known = f"FILE, NEW, PORT = {file!r}, {f'{file}.new'!r}, {port}"
    imports = "import matplotlib as mpl, matplotlib.pyplot as plt, pandas as pd, requests"
    result = prepared.run_sync(f"{imports}\n{known}\nbool({BY_PACKAGES[attack]})")
    assert not worked(result), f"it worked: {result.value!r}"
    if result.error is not None:
        assert result.error.type not in VACUOUS, result.error
    assert [path.name for path in host.directory.iterdir()] == ["file"]
    assert (host.directory / "file").read_text() == host.facts["secret"]


@pytest.mark.process
def test_the_way_out_is_there(granted: Runtime) -> None:
    """Otherwise the attacks above would prove nothing: code does reach the real modules."""
    found = granted.run_sync(
        "import numpy as np\n[np.f2py.os.getpid() > 1, np.ctypeslib.ctypes.CDLL(None).getpid() > 1]"
    )
    assert found.unwrap() == [True, True]


@pytest.fixture(scope="module")
def unspoken() -> Iterator[Runtime]:
    """The same workers with the language layer off, and the tools of the attacks."""
    source = ZygoteSource(arguments=("--without-language", "--with-tools"))
    with locked_down(source, off=("language",), policy=POLICY) as runtime:
        yield runtime


@pytest.mark.process
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_attack_does_not_work_beside_a_real_module(
    unspoken: Runtime, host: EscapeTargets, attack: KernelAttack
) -> None:
    """What numpy has loaded and mapped opens nothing that is closed without it."""
    host.reset()
    result = unspoken.run_sync(f"import numpy\n{attack.program(host.facts)}")
    assert not worked(result), f"it worked: {result.value!r}"
    assert attack.stopped(result), f"{result.status.value}, {result.error or result.value}"
