"""(4) The life of a worker: confine itself, receive manifest and code, run it, send the result.

In a session it then takes the next cell, in the same user space; otherwise it exits.

The zygote forks and confines it, with its end of a socket pair as descriptor 0. That is the only
descriptor that it has, and the only one it can ever have.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NoReturn

from caps.protocol.errors import ProtocolError
from caps.protocol.messages import (
    PROTOCOL_VERSION,
    CompiledMessage,
    CompileMessage,
    ManifestMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
)
from caps.protocol.zygote_messages import OUT_OF_MEMORY
from caps.worker.inside.caps_api.static_check import check_calls
from caps.worker.inside.channel.channel import Channel, exit_worker, python_version
from caps.worker.inside.confinement.rlimits import ApplyLimits, limit_resources
from caps.worker.inside.errors.report import describe_source
from caps.worker.inside.language.compiler import (
    Program,
    SourceError,
    compile_source,
    compile_unrestricted,
    pack,
    unpack,
)
from caps.worker.inside.language.version import language_version
from caps.worker.inside.runner.run import run
from caps.worker.inside.runner.user_space import UserSpace
from caps.worker.inside.runner.warmup import WarmUp

CHANNEL = 0
# A worker that was idle for this long will most likely stay idle for longer than a warm-up takes.
_IDLE_MS = 30
_LINGER_MS = 1000

RealModules = Mapping[str, ModuleType]


def drop_import_system() -> None:
    """Give up what only the start-up needed: the import system, the command line.

    After this nothing more can be imported, even if the language layer fails.
    """
    sys.argv = [""]
    sys.path.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()


def close_descriptors(keep: int) -> None:
    """Close all descriptors above `keep`, and give up the standard streams."""
    sys.stdin = sys.stdout = sys.stderr = None
    os.closerange(keep + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


class WorkerTemplate:
    """What a worker has when it is forked: a channel, a user space on it, and a warm-up to perform.

    Created in the zygote, which only queues the first message in it and enters the user space. Its
    children inherit both.
    """

    def __init__(
        self,
        script: list[bytes],
        real: RealModules,
        *,
        restricted: bool,
        channel: Channel | None = None,
    ) -> None:
        self.restricted = restricted
        self.warm_up = WarmUp(script, real, restricted=restricted)
        self.channel = channel or Channel(CHANNEL)
        self.space = UserSpace(self.channel, real, restricted=restricted)

    def queue_ready(self) -> None:
        """Queue the first message of each worker, once for all; it has the time of the queueing.

        A worker sends it when it has confined itself. Called after everything is loaded.
        """
        self.channel.send(
            ReadyMessage,
            protocol=PROTOCOL_VERSION,
            python=python_version(),
            language=language_version(),
        )


def serve_execution(template: WorkerTemplate) -> NoReturn:
    """Serve one execution on the channel. Runs in the worker, after confinement."""
    try:
        serve(template)
        # The host measures what this process used, and then kills it.
        template.channel.linger(_LINGER_MS)
    except ProtocolError:
        exit_worker(OUT_OF_MEMORY if template.channel.lost_input else 2)


def serve(template: WorkerTemplate, limit: ApplyLimits = limit_resources) -> None:
    """One execution, or the cells of one session, from the ready message to the last result.

    Or one source to compile: then this process never runs any code. While it is idle at the start,
    it performs its warm-up. `limit` applies the limits; the warm-up of the zygote has another.
    """
    channel, restricted = template.channel, template.restricted
    channel.flush()  # sends the ready message
    first = channel.next_message() if channel.has_input(_IDLE_MS) else None
    # The manifest of a spare may come long before its code.
    is_early = isinstance(first, ManifestMessage) and not channel.has_input(_IDLE_MS)
    if first is None or is_early:
        template.warm_up.perform()
        template.space.enter()  # in place of that of the warm-up
    if first is None:
        first = channel.next_message()
    if isinstance(first, ManifestMessage):
        serve_cells(channel, template.space, first, limit, restricted=restricted)
    elif isinstance(first, CompileMessage):
        serve_compilation(channel, first, restricted=restricted)
    else:
        raise ProtocolError("expected a manifest", violation="out_of_turn")


def serve_cells(
    channel: Channel,
    space: UserSpace,
    manifest: ManifestMessage,
    limit: ApplyLimits,
    *,
    restricted: bool,
) -> None:
    """Run one program, or in a session one program after another."""
    is_granted = False
    while True:
        start = channel.next_start()
        channel.interrupts.begin()
        limit(start.limits, last=not manifest.session)
        try:
            program = load_program(start, restricted=restricted)
            if start.check:
                check_calls(start.source, program, manifest)
        except SourceError as error:
            fields: dict[str, Any] = {
                "error": describe_source(error, start.filename, start.source),
                "never_ran": True,
            }
        else:
            channel.send(StartedMessage)
            channel.flush()
            if not is_granted:
                space.grant(manifest, start.limits)
                is_granted = True
            fields = run(program, space, channel, start)
        channel.interrupts.end()
        channel.send(ResultMessage, **fields)
        channel.flush()
        if not manifest.session:
            return


def load_program(start: StartMessage, *, restricted: bool) -> Program:
    """The program to run: compiled before by a compiler process, or compiled now."""
    if start.program:
        return unpack(start.program, start.source, start.filename, restricted=restricted)
    compile_code = compile_source if restricted else compile_unrestricted
    return compile_code(start.source, start.filename)


def serve_compilation(channel: Channel, order: CompileMessage, *, restricted: bool) -> None:
    """Compile one source for the cache; the program is empty if it does not compile."""
    limit_resources(order.limits)
    compile_code = compile_source if restricted else compile_unrestricted
    try:
        program = pack(compile_code(order.source, order.filename))
    except SourceError:
        program = b""  # the worker that runs this source reports the error
    channel.send(CompiledMessage, program=program)
    channel.flush()
