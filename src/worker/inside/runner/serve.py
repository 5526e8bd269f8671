"""(4) A worker's life: shut itself in, take a manifest and code, run it, say how it ended.

In a session it takes the next cell then, in the same user space; else it has served, and leaves.

Forked and locked down by the zygote, with its end of a socket pair as descriptor 0. That is the
only descriptor that it has, and the only one it can ever have.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import NoReturn

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
from caps.worker.inside.caps_api.static_check import check_calls
from caps.worker.inside.runner.user_space import UserSpace
from caps.worker.inside.channel.channel import Channel, leave, python_version
from caps.worker.inside.language.compiler import (
    Program,
    SourceError,
    compile_plainly,
    compile_source,
    pack,
    unpack,
)
from caps.worker.inside.language.version import language_version
from caps.worker.inside.confinement.rlimits import limit_resources
from caps.worker.inside.runner.warmup import Rehearsal
from caps.worker.inside.errors.report import describe_source
from caps.worker.inside.runner.run import run

CHANNEL = 0
# Who has waited for so long will most likely wait longer than a rehearsal takes.
_CALM_SECONDS = 0.03
_LONGEST_LOOK_SECONDS = 1.0

RealModules = Mapping[str, ModuleType]


def shut_in(keep: int) -> None:
    """Give up what the start-up needed: descriptors, the import system, the command line.

    After this nothing more can be imported, whatever the language layer lets through.
    """
    sys.stdin = sys.stdout = sys.stderr = None
    os.closerange(keep + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    sys.argv = [""]
    sys.path.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()
    gc.collect()
    gc.freeze()


class Birthright:
    """What a worker is born with: a channel, a user space on it, and a rehearsal to perform.

    Made in the zygote, which only writes the first message into it: its children have it without
    making it.
    """

    def __init__(self, script: list[bytes], real: RealModules, *, restricted: bool) -> None:
        self.restricted = restricted
        self.rehearsal = Rehearsal(script, real, restricted=restricted)
        self.channel = Channel(CHANNEL)
        self.space = UserSpace(self.channel, real, restricted=restricted)

    def say_ready(self) -> None:
        """What each worker says first, written once for all; its time is that of the writing.

        It leaves when the worker has shut itself in. After everything is loaded.
        """
        self.channel.send(
            ReadyMessage,
            protocol=PROTOCOL_VERSION,
            python=python_version(),
            language=language_version(),
        )


def serve_execution(born_with: Birthright) -> NoReturn:
    """Serve one execution on the channel. Runs in the worker, after confinement."""
    try:
        serve(born_with)
        # The host looks at what this process used, and then kills it.
        born_with.channel.linger(_LONGEST_LOOK_SECONDS)
    except ProtocolError:
        leave(2)


def serve(born_with: Birthright) -> None:
    """One execution, or the cells of one session, from ready to the last result.

    Or none at all: one source to compile, and then this process never runs any. If nobody wants it
    yet, it uses the time to get in practice.
    """
    channel, restricted = born_with.channel, born_with.restricted
    channel.flush()  # that it is ready
    if not channel.has_input(_CALM_SECONDS):
        born_with.rehearsal.perform()
    born_with.space.enter()
    first = channel.next_message()
    if isinstance(first, ManifestMessage):
        serve_cells(channel, born_with.space, first, restricted=restricted)
    elif isinstance(first, CompileMessage):
        serve_compilation(channel, first, restricted=restricted)
    else:
        raise ProtocolError("a manifest was due", violation="out_of_turn")


def serve_cells(
    channel: Channel, space: UserSpace, manifest: ManifestMessage, *, restricted: bool
) -> None:
    """Run what comes: one program, or in a session one after another."""
    granted = False
    while True:
        start = channel.next_start()
        limit_resources(start.limits, last=not manifest.session)
        try:
            program = program_of(start, restricted=restricted)
            if start.check:
                check_calls(start.source, program, manifest)
        except SourceError as error:
            channel.send(
                ResultMessage, error=describe_source(error, start.filename), never_ran=True
            )
        else:
            channel.send(StartedMessage)
            channel.flush()
            if not granted:
                space.grant(manifest, start.limits.concurrency)
                granted = True
            channel.send(ResultMessage, **run(program, space, channel))
        channel.flush()
        if not manifest.session:
            return


def program_of(start: StartMessage, *, restricted: bool) -> Program:
    """The program to run: what a compiler process made of this source, or made here and now."""
    if start.program:
        return unpack(start.program, start.source, start.filename, restricted=restricted)
    compile_code = compile_source if restricted else compile_plainly
    return compile_code(start.source, start.filename)


def serve_compilation(channel: Channel, order: CompileMessage, *, restricted: bool) -> None:
    """Compile one source for whoever runs it; nothing if it does not compile."""
    limit_resources(order.limits)
    compile_code = compile_source if restricted else compile_plainly
    try:
        program = pack(compile_code(order.source, order.filename))
    except SourceError:
        program = b""  # the worker that is to run it says what is wrong with it
    channel.send(CompiledMessage, program=program)
    channel.flush()
