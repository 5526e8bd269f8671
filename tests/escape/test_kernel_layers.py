"""Each layer beneath the language proved by itself: the attacks of `kernel/`, with others left out.

An attack names the layers of which each is enough (`# alone: ...`). It runs twice for each of them,
in workers that differ in that one layer: without it the attack works, with it it does not. So it is
this layer that stops it, and no other. Two layers are proved otherwise:

- seccomp by how the attack ends, which without it is another ending; many an attack asks for what
  the machine would refuse for other reasons, and must not even be able to ask;
- identity with everything else left out. It is never left out itself: no attack here ever has the
  rights of root, and none runs if they could not be given up.

The attacks then run with the layers that a weaker kernel, or a broken layer, would leave.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import pytest

from caps import MemoryAuditLog, Runtime
from caps.capabilities.runtime.result import ExecutionResult
from caps.protocol.enforcement import Enforcement, Layer
from caps.protocol.errors import IsolationError, WorkerLostError
from caps.worker.host.zygote.source import ZygoteSource
from support.escape_targets import EscapeTargets
from support.kernel_attacks import ATTACKS, ENDINGS, KernelAttack, worked

POLICY = {
    "id": "layers",
    "allow": [],
    "limits": {"wall_ms": 10_000, "cpu_ms": 1000, "memory_mb": 256},
}

Held = frozenset[str]

# What may be left out, and is here unless it is said to be held.
LEAVABLE = ("namespaces", "root", "privileges", "landlock", "seccomp", "rlimits")

# What a layer cannot do without, or has nothing to do without.
NEEDS: dict[str, Held] = {
    "identity": frozenset(),
    "namespaces": frozenset(),
    "root": frozenset({"namespaces"}),  # its own root needs its own mounts
    "privileges": frozenset({"namespaces"}),  # who is not root has capabilities only in there
    "landlock": frozenset({"privileges"}),  # the kernel asks for no_new_privs first
    "seccomp": frozenset({"privileges"}),  # the same
    "rlimits": frozenset(),
}

# How many attacks each layer has to stop by itself.
AT_LEAST = {
    "identity": 25,
    "namespaces": 9,
    "root": 35,
    "privileges": 12,
    "landlock": 35,
    "seccomp": 190,
    "rlimits": 50,
}

WEAKER: dict[str, Held] = {
    "without seccomp": frozenset(LEAVABLE) - {"seccomp"},
    "without seccomp and landlock": frozenset(LEAVABLE) - {"seccomp", "landlock"},
    "without namespaces": frozenset(LEAVABLE) - {"namespaces", "root"},
}


def _give_up(reason: str) -> NoReturn:
    if os.environ.get("CAPS_FORBID_SKIPS"):
        pytest.fail(reason)
    pytest.skip(reason)


def _arguments(held: Held) -> tuple[str, ...]:
    without = [f"--without-{name}" for name in LEAVABLE if name not in held]
    return ("--without-language", "--with-tools", *without)


def _check(layers: tuple[Layer, ...], held: Held) -> None:
    """Exactly the requested layers are in force; otherwise the test proves nothing."""
    found = {layer.name: layer for layer in layers}
    if found["identity"].enforcement is not Enforcement.FULLY:
        _give_up(f"attacks may not run as root: {found['identity'].detail}")
    for name in held:
        # Without namespaces of its own a process may not empty its bounding set.
        enough = {Enforcement.FULLY, Enforcement.PARTIALLY if name == "privileges" else None}
        if found[name].enforcement not in enough:
            _give_up(f"this system lacks {name}: {found[name].detail}")
    for name in set(LEAVABLE) - held:
        assert found[name].enforcement is Enforcement.NOT
        assert found[name].detail == "left out, as asked"


class ProvingGround:
    """One runtime for each set of layers, opened when it is first needed."""

    def __init__(self, host: EscapeTargets, runtimes: ExitStack) -> None:
        self._host = host
        self._runtimes = runtimes
        self._opened: dict[tuple[str, Held], Runtime] = {}

    def run(self, purpose: str, held: Held, attack: KernelAttack) -> ExecutionResult:
        """The attack, held by these layers, the process and identity alone.

        Each purpose has runtimes of its own: an attack that works may spoil the zygote's mounts
        for what comes after it.
        """
        runtime = self._opened.get((purpose, held))
        if runtime is None:
            runtime = self._opened[purpose, held] = self._open(held)
        self._host.reset()
        return runtime.run_sync(attack.program(self._host.facts))

    def _open(self, held: Held) -> Runtime:
        source = ZygoteSource(arguments=_arguments(held))
        with ExitStack() as undo:
            runtime = undo.enter_context(
                Runtime(
                    POLICY,
                    audit=MemoryAuditLog(),
                    workers=source,
                    isolation="best-effort",
                    max_workers=1,
                )
            )
            _check(source.layers, held)
            self._runtimes.push(undo.pop_all())
        return runtime


@pytest.fixture(scope="module")
def ground(host: EscapeTargets) -> Iterator[ProvingGround]:
    """Workers with the requested layers only, run by a user who cannot harm the machine."""
    status = Path("/proc/self/status").read_text()
    if os.geteuid() != 0 and not re.search(r"^CapEff:\s+0+$", status, re.MULTILINE):
        _give_up("attacks may not run with capabilities; start the tests without any")  # root drops
    with ExitStack() as runtimes:
        yield ProvingGround(host, runtimes)


def _cases(layers: set[str]) -> list[object]:
    return [
        pytest.param(attack, layer, id=f"{layer}-{attack.name}")
        for layer in NEEDS
        for attack in ATTACKS
        if layer in layers and layer in attack.stopped_alone_by
    ]


@pytest.mark.process
@pytest.mark.parametrize(("attack", "layer"), _cases(set(NEEDS) - {"identity", "seccomp"}))
def test_the_layer_stops_it_alone(ground: ProvingGround, attack: KernelAttack, layer: str) -> None:
    """Without the layer the attack works; with it, and nothing else changed, it does not."""
    without = NEEDS[layer] | attack.never_without
    assert layer not in without, f"it never runs without {layer}, so that proves nothing"
    free = ground.run(layer, without, attack)
    assert worked(free), f"it fails without {layer}, too: {free.error or free.value}"
    stopped = ground.run(layer, without | {layer}, attack)
    assert not worked(stopped), f"it worked: {stopped.value!r}"


@pytest.mark.process
@pytest.mark.parametrize(("attack", "layer"), _cases({"seccomp"}))
def test_the_filter_stops_it_alone(ground: ProvingGround, attack: KernelAttack, layer: str) -> None:
    """It ends as it has to under the filter, and in no such way without it."""
    without = NEEDS[layer] | attack.never_without
    stopped = ground.run(layer, without | {layer}, attack)
    assert attack.stopped(stopped), f"{stopped.status.value}, {stopped.error or stopped.value}"
    free = ground.run(layer, without, attack)
    assert not attack.stopped(free) or worked(free), f"it ends so without {layer}, too"


@pytest.mark.process
@pytest.mark.parametrize(("attack", "layer"), _cases({"identity"}))
def test_the_users_lack_of_rights_stops_it_alone(
    ground: ProvingGround, attack: KernelAttack, layer: str
) -> None:
    """With every layer left out that can be, the machine refuses it to this user."""
    result = ground.run(layer, NEEDS[layer] | attack.never_without, attack)
    assert ENDINGS["refused"](result), f"{result.status.value}, {result.error or result.value}"


@pytest.mark.process
@pytest.mark.parametrize(
    ("attack", "kernel"),
    [
        pytest.param(attack, kernel, id=f"{kernel}-{attack.name}")
        for kernel, held in WEAKER.items()
        for attack in ATTACKS
        if held & set(attack.stopped_alone_by) and attack.never_without <= held
    ],
)
def test_what_is_left_stops_it(ground: ProvingGround, attack: KernelAttack, kernel: str) -> None:
    """One of the layers that stop it is still in force, and stops it."""
    result = ground.run(kernel, WEAKER[kernel], attack)
    assert not worked(result), f"it worked: {result.value!r}"


def test_every_layer_has_attacks_that_it_stops_alone() -> None:
    """The marks name known layers, and no layer rests on the others."""
    named = [layer for attack in ATTACKS for layer in attack.stopped_alone_by]
    few = {layer: least for layer, least in AT_LEAST.items() if named.count(layer) < least}
    assert few == {}
    assert set(named) - {"none"} == set(AT_LEAST) == set(NEEDS)
    for attack in ATTACKS:
        assert attack.stopped_alone_by, f"{attack.name} does not say what stops it alone"
        assert attack.never_without <= set(LEAVABLE), attack.name


@pytest.mark.process
def test_a_zygote_refuses_an_argument_that_it_does_not_know(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What may be left out is a closed set; a misspelt layer is not silently kept or left out."""
    source = ZygoteSource(arguments=("--without-identity",))
    with (
        pytest.raises(WorkerLostError, match="did not start"),
        Runtime({}, audit=MemoryAuditLog(), workers=source, isolation="best-effort"),
    ):
        raise AssertionError("it started")
    assert "`--without-identity`" in caplog.text


@pytest.mark.process
@pytest.mark.parametrize("layer", LEAVABLE)
def test_a_runtime_refuses_to_do_without_a_layer(layer: str) -> None:
    """What is left out is a gap like any other: nothing runs unless isolation is best-effort."""
    source = ZygoteSource(arguments=(f"--without-{layer}",))
    with (
        pytest.raises(IsolationError, match=f"{layer} not"),
        Runtime({}, audit=MemoryAuditLog(), workers=source),
    ):
        raise AssertionError("it opened")
