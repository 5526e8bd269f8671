"""The zygote: started once in a clean environment, confined; then it forks workers on order.

It imports what workers need, gives up its rights, and loads the filter that its children complete.
It has one thread and never sees untrusted input: orders come from the host only, and the warm-up,
which it runs a few times before it is ready, is our own code.

When the control socket closes or the host's process ends, the zygote exits. It is the first process
of its pid namespace, so the kernel kills every worker with it. A zygote that is stopped cannot do
that: then the kernel kills it when the host ends, as every process here asks to die with its
parent.
"""

from __future__ import annotations

import _socket
import gc
import importlib
import os
import signal
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import NoReturn

import msgspec

from caps.protocol.enforcement import Enforcement, Layer
from caps.protocol.zygote_messages import ModuleRefused
from caps.worker.inside.confinement import linux
from caps.worker.inside.confinement.layers import (
    confine_zygote,
    filter_zygote,
    limit_zygote,
    prepare_confinement,
)
from caps.worker.inside.confinement.seccomp import Filters, parse_filters
from caps.worker.inside.language.known_private_names import record_loaded_names
from caps.worker.inside.language.version import sources_digest
from caps.worker.inside.packages.machine import describe_machine
from caps.worker.inside.runner.serve import (
    CHANNEL,
    WorkerTemplate,
    close_descriptors,
    drop_import_system,
)
from caps.worker.inside.runner.warmup import WarmUp, record_host_script
from caps.worker.inside.stdlib.importer import load_facades
from caps.worker.inside.stdlib.real_modules import RealModuleError, load_real_modules
from caps.worker.inside.zygote.arguments import (
    Argument,
    disabled_layers,
    parse_arguments,
    requested_modules,
)
from caps.worker.inside.zygote.first_steps import FirstSteps
from caps.worker.inside.zygote.fork import WorkerSetup
from caps.worker.inside.zygote.immortal import keep_for_ever
from caps.worker.inside.zygote.orders import CONTROL, HOST, Zygote, fork_process
from caps.worker.inside.zygote.warm_up import warm_up_zygote

_RULESET = 2  # replaces the standard error, once nothing more is written there

# For attacks in tests with the language layer off: the modules that such attacks use.
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

# Modules that the zygote needs and a worker must not find. Each one has to be loaded; if not, its
# name is wrong.
_ZYGOTE_ONLY = (
    "_ctypes",
    "_socket",
    "caps.worker.inside.confinement.linux",
    "ctypes",
    "signal",
)

# Modules that a real module may have loaded and a worker must not find either.
_FORBIDDEN_IMPORTS = ("_posixsubprocess", "pyseccomp", "selectors", "subprocess")

# Modules that the library loads from Python 3.12 on and never uses in a worker. A real module may.
_UNUSED_IMPORTS = ("threading",)

_LANGUAGE = Layer(name="language", enforcement=Enforcement.FULLY, detail="restricted python")
# Applied in every worker by `become_worker`; a worker that fails to do so exits before it is ready.
_PROCESS = Layer(
    name="process",
    enforcement=Enforcement.FULLY,
    detail="one fork per execution, no environment, one descriptor, no imports",
)


def main(first_steps: FirstSteps) -> NoReturn:
    """Prepare, confine, and fork on order until the host has ended."""
    requested, modules = parse_arguments(sys.argv[1:]), requested_modules(sys.argv[1:])
    without = disabled_layers(requested)
    control = _socket.socket(fileno=CONTROL)
    # The control socket may outlive the host in a child that it forked; this pidfd shows its end.
    os.dup2(os.pidfd_open(first_steps.host), HOST)
    template = _prepare_template(requested, modules, control)
    filters = parse_filters(first_steps.filter_job.outcome())
    if first_steps.memory is not None:
        first_steps.memory.seal()  # from here on, a fork is possible
    if "seccomp" in without:
        filters = Filters(b"", b"", without["seccomp"])
    layers = [
        without.get("language") or _language_layer(modules),
        _PROCESS,
        *confine_zygote(without),
        filters.layer,
        limit_zygote(without),
    ]
    # Again: the kernel forgets it when a process changes its user.
    linux.die_with_parent(signal.SIGKILL)
    if os.getppid() != first_steps.host:  # it ended before the call above, which has no effect then
        os._exit(0)
    if _in_a_pid_namespace(layers):
        _become_first_process()
    close_descriptors(HOST)
    setup = WorkerSetup(
        linux.prepared_death_with_parent(signal.SIGKILL),
        prepare_confinement(filters.worker, without, _RULESET, CHANNEL),
        template,
    )
    template.space.enter()
    filter_zygote(filters.zygote)
    # What the collector would free later, each worker would free for itself, and copy the pages.
    gc.collect()
    gc.freeze()
    Zygote(control, setup).serve(layers)


def _prepare_template(
    requested: frozenset[Argument], modules: tuple[str, ...], control: _socket.socket
) -> WorkerTemplate:
    """Load everything, and prepare what workers start with. Nothing can be imported afterwards."""
    load_facades()
    script = record_host_script()
    sources_digest()
    # What a warm-up creates permanently is shared by all workers.
    WarmUp(script, {}, restricted=True).perform()
    has_tools = Argument.WITH_TOOLS in requested
    for tool in _TOOLS if has_tools else ():
        importlib.import_module(tool)
    real = _load_modules(modules, control)
    if modules and not has_tools:  # attacks in tests make the real calls
        describe_machine()
    restricted = Argument.WITHOUT_LANGUAGE not in requested
    template = WorkerTemplate(script, real, restricted=restricted)
    if not modules and not has_tools:
        record_loaded_names()  # nothing else will be loaded later
    template.queue_ready()
    signal.signal(signal.SIGINT, template.channel.interrupts.on_signal)
    if not has_tools:
        _unload_modules(has_real_modules=bool(modules))
    drop_import_system()
    warm_up_zygote(script)
    keep_for_ever()
    return template


def _unload_modules(*, has_real_modules: bool) -> None:
    """Remove modules from `sys.modules`; our own code that uses them has references already.

    Done once, in the zygote, for all workers.
    """
    for name in _ZYGOTE_ONLY:
        if name not in sys.modules:  # misspelt or renamed: a worker would find the module
            raise LookupError(f"`{name}` is not loaded, so it cannot be forgotten")
    unused = () if has_real_modules else _UNUSED_IMPORTS
    prefixes = tuple(f"{name}." for name in (*_ZYGOTE_ONLY, *_FORBIDDEN_IMPORTS, *unused))
    for name in list(sys.modules):
        if f"{name}.".startswith(prefixes):
            del sys.modules[name]


def _load_modules(names: tuple[str, ...], control: _socket.socket) -> Mapping[str, ModuleType]:
    """Load the modules that a policy grants. If one fails, report it to the host and exit."""
    try:
        return load_real_modules(names)
    except RealModuleError as error:
        refused = ModuleRefused(module=error.module, reason=error.reason)
        control.sendmsg([msgspec.msgpack.encode(refused)])
        os._exit(1)


def _language_layer(modules: tuple[str, ...]) -> Layer:
    if not modules:
        return _LANGUAGE
    return Layer(
        name="language",
        enforcement=Enforcement.PARTIALLY,
        detail=f"restricted python, but not for real modules: {', '.join(modules)}",
        remedy="take `modules` out of the policy",
    )


def _in_a_pid_namespace(layers: list[Layer]) -> bool:
    enforced = {layer.name for layer in layers if layer.enforcement is Enforcement.FULLY}
    return "namespaces" in enforced


def _become_first_process() -> None:
    """The first child after `unshare` is process 1 of the new namespace.

    The child returns and continues; the parent waits for it.
    """
    child = fork_process()
    if child == 0:
        linux.die_with_parent(signal.SIGKILL)
        return
    os.closerange(0, 3)
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
