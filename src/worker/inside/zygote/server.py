"""The zygote: started once in a clean environment, confined, and from then on it forks on order.

It imports what workers need, gives up its rights, and prepares the filter that its children load.
It runs on one thread and never sees untrusted input: orders come from the host alone, and what it
rehearses a few times, while there are none, is code of ours.

When the control socket closes or the host's process ends, the zygote leaves, and as it is the first
process of its pid namespace the kernel ends every worker with it.
"""

from __future__ import annotations

import _socket
import array
import errno
import gc
import importlib
import os
import select
import signal
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import NoReturn

import msgspec

from caps.protocol.enforcement import Enforcement, Layer
from caps.protocol.zygote_messages import (
    MAX_PACKET_BYTES,
    Forked,
    ForkOrder,
    ForkRefused,
    FromZygote,
    ModuleRefused,
    WorkerExited,
    ZygoteReady,
)
from caps.worker.inside.confinement.layers import linux as kernel
from caps.worker.inside.zygote.arguments import Argument, asked_modules, left_out, understand
from caps.worker.inside.confinement.layers import confine_zygote, limit_zygote, prepare_confinement
from caps.worker.inside.zygote.forked_job import Errand
from caps.worker.inside.stdlib.importer import load_facades
from caps.worker.inside.language.version import sources_digest
from caps.worker.inside.language.known_private_names import learn
from caps.worker.inside.runner.serve import Birthright, shut_in
from caps.worker.inside.stdlib.real_modules import RealModuleError, load_real_modules
from caps.worker.inside.runner.warmup import Rehearsal, write_script
from caps.worker.inside.confinement.seccomp import prepared_filter, understood_filter
from caps.worker.inside.zygote.fork import Upbringing, become_worker

_CONTROL = 0
_HOST = 1
_RULESET = 2  # in place of the standard error, once nothing is said there any more
_REHEARSALS = 10  # Python specialises a function when it runs the ninth time
_CALM_MS = 20
# Of an order there are two at most: a channel, and a group's.
_ROOM_FOR_DESCRIPTORS = _socket.CMSG_SPACE(2 * array.array("i").itemsize)

# For attacks with the language layer off: the tools that they would bring along.
_TOOLS = (
    "ctypes",
    "fcntl",
    "mmap",
    "shutil",
    "signal",
    "socket",
    "struct",
    "subprocess",
    "threading",
)

# What the zygote needs and a worker must not find, with what these brought along.
_ZYGOTE_ONLY = (
    "_ctypes",
    "_posixsubprocess",
    "_socket",
    "caps.worker.inside.confinement.linux",
    "ctypes",
    "pyseccomp",
    "selectors",
    "signal",
    "subprocess",
)

_LANGUAGE = Layer(name="language", enforcement=Enforcement.FULLY, detail="restricted python")
# Done in every worker by `become_worker`; one that cannot do it dies before it is ready.
_PROCESS = Layer(
    name="process",
    enforcement=Enforcement.FULLY,
    detail="one fork per execution, no environment, one descriptor, no imports",
)


def main() -> NoReturn:
    """Prepare, confine, and fork on order until the host is gone."""
    asked, modules = understand(sys.argv[1:]), asked_modules(sys.argv[1:])
    without = left_out(asked)
    control = _socket.socket(fileno=_CONTROL)
    # The control socket may outlive the host in a child that it forked; this descriptor does not.
    os.dup2(os.pidfd_open(os.getppid()), _HOST)
    filter_made = Errand(prepared_filter)
    load_facades()
    script = write_script()
    sources_digest()
    # What a rehearsal makes for good is shared by all.
    Rehearsal(script, {}, restricted=True).perform()
    if Argument.WITH_TOOLS in asked:
        for tool in _TOOLS:
            importlib.import_module(tool)
    program, seccomp = understood_filter(filter_made.outcome())
    real = _real_modules(modules, control)
    if "seccomp" in without:
        program, seccomp = b"", without["seccomp"]
    layers = [
        without.get("language") or _language(modules),
        _PROCESS,
        *confine_zygote(without),
        seccomp,
        limit_zygote(without),
    ]
    if _in_a_pid_namespace(layers):
        _become_its_first_process()
    born_with = Birthright(script, real, restricted="language" not in without)
    if not modules and Argument.WITH_TOOLS not in asked:
        learn()  # all that ever will be loaded is
    born_with.say_ready()
    if Argument.WITH_TOOLS not in asked:
        _forget(_ZYGOTE_ONLY)
    shut_in(_HOST)
    confinement = prepare_confinement(program, without, _RULESET)
    Zygote(control, Upbringing(confinement, born_with), script).serve(layers)


def _forget(unwanted: tuple[str, ...]) -> None:
    """Take modules out of where code looks for them; what uses them here has them already.

    Once for all children: none of them pays for it.
    """
    for name in list(sys.modules):
        if any(f"{name}.".startswith(f"{one}.") for one in unwanted):
            del sys.modules[name]


def _real_modules(names: tuple[str, ...], control: _socket.socket) -> Mapping[str, ModuleType]:
    """What a policy grants, loaded; one that cannot be had is told to the host, and that is all."""
    try:
        return load_real_modules(names)
    except RealModuleError as error:
        refused = ModuleRefused(module=error.module, reason=error.reason)
        control.sendmsg([msgspec.msgpack.encode(refused)])
        os._exit(1)


def _language(modules: tuple[str, ...]) -> Layer:
    if not modules:
        return _LANGUAGE
    return Layer(
        name="language",
        enforcement=Enforcement.PARTIALLY,
        detail=f"restricted python, but not for real modules: {', '.join(modules)}",
        remedy="take `modules` out of the policy",
    )


def _in_a_pid_namespace(layers: list[Layer]) -> bool:
    entered = {layer.name for layer in layers if layer.enforcement is Enforcement.FULLY}
    return "namespaces" in entered


def _become_its_first_process() -> None:
    """The first child after `unshare` is process 1 of the new namespace; it goes on, we wait."""
    child = os.fork()
    if child == 0:
        kernel.die_with_parent(signal.SIGKILL)
        return
    os.closerange(0, 3)
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


class Zygote:
    """Forks on order and reaps what it forked."""

    def __init__(
        self, control: _socket.socket, upbringing: Upbringing, script: list[bytes]
    ) -> None:
        """`script` is what is rehearsed while there is nothing to do."""
        self._control = control
        self._upbringing = upbringing
        self._script = script
        self._rehearsals_left = _REHEARSALS
        self._workers: dict[int, tuple[int, int]] = {}
        self._poll = select.poll()
        self._poll.register(control.fileno(), select.POLLIN)
        self._poll.register(_HOST, select.POLLIN)
        self._orders = msgspec.msgpack.Decoder(ForkOrder)

    def serve(self, layers: list[Layer]) -> NoReturn:
        """Say what holds, then wait for orders and for exits."""
        self._say(ZygoteReady(layers=layers))
        while True:
            waiting = self._poll.poll(_CALM_MS if self._rehearsals_left else None)
            if not waiting:
                self._rehearse()
            for descriptor, _ in waiting:
                if descriptor == self._control.fileno():
                    self._take_order()
                elif descriptor == _HOST:
                    os._exit(0)  # process 1 leaves and takes all workers along
                else:
                    self._reap(descriptor)

    def _rehearse(self) -> None:
        """Use the calm, a few times in all, to run what workers run: harmless code of ours.

        Python rewrites code in place when it has run often enough. Done here, a child need not do
        it, nor copy the pages that it would change.
        """
        self._rehearsals_left -= 1
        Rehearsal(self._script, {}, restricted=True).perform()
        gc.freeze()

    def _take_order(self) -> None:
        data, ancillary, _, _ = self._control.recvmsg(MAX_PACKET_BYTES, _ROOM_FOR_DESCRIPTORS)
        if not data:
            os._exit(0)  # the host has closed us; the same
        order = self._orders.decode(data)
        passed = array.array("i", ancillary[0][2] if ancillary else b"")
        if len(passed) != 1 + order.grouped:
            # The kernel drops a descriptor that there is no room for.
            _close(passed)
            self._refuse(order, os.strerror(errno.EMFILE))
            return
        try:
            worker = os.fork()
        except OSError as error:
            _close(passed)
            self._refuse(order, str(error.strerror))
            return
        if worker == 0:
            become_worker(self._upbringing, passed[0], passed[1] if order.grouped else None)
        _close(passed)
        self._announce(order, worker)

    def _refuse(self, order: ForkOrder, reason: str) -> None:
        self._say(ForkRefused(number=order.number, reason=reason))

    def _announce(self, order: ForkOrder, worker: int) -> None:
        number = order.number
        try:
            descriptor = os.pidfd_open(worker)
        except OSError as error:
            # Nobody could kill it later, so it ends now; it has seen nothing yet.
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
            self._refuse(order, str(error.strerror))
            return
        self._workers[descriptor] = (number, worker)
        self._poll.register(descriptor, select.POLLIN)
        self._say(Forked(number=number), descriptor)

    def _reap(self, descriptor: int) -> None:
        number, worker = self._workers.pop(descriptor)
        self._poll.unregister(descriptor)
        os.close(descriptor)
        _, status, usage = os.wait4(worker, 0)
        self._say(
            WorkerExited(
                number=number,
                status=status,
                cpu_us=int((usage.ru_utime + usage.ru_stime) * 1_000_000),
                max_rss_kb=usage.ru_maxrss,
            )
        )

    def _say(self, packet: FromZygote, descriptor: int | None = None) -> None:
        ancillary = []
        if descriptor is not None:
            passed = array.array("i", [descriptor])
            ancillary.append((_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed))
        try:
            self._control.sendmsg([msgspec.msgpack.encode(packet)], ancillary)
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
