"""What host and zygote say to each other: a closed set, over a socket that keeps packets whole.

The host orders forks and hands over the worker's end of a channel; the zygote hands back a process
descriptor. Nothing here comes from, or goes to, untrusted code.
"""

from __future__ import annotations

import msgspec

from caps.protocol.enforcement import Layer

MAX_PACKET_BYTES = 64 * 1024

# The exit status of a worker that could not enter the group that it was given.
GROUP_REFUSED = 3


class _Packet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """Base of all packets."""


class ForkOrder(_Packet, frozen=True, kw_only=True):
    """Fork a worker on the channel that comes with this packet.

    `grouped`: a second descriptor comes along, through which it enters its memory group before
    anything else.
    """

    number: int
    grouped: bool = False


class ZygoteReady(_Packet, frozen=True, kw_only=True):
    """The zygote is confined and waits for orders."""

    layers: list[Layer]


class ModuleRefused(_Packet, frozen=True, kw_only=True):
    """A real module that was asked for is not to be had; the zygote ends. `reason` is one line."""

    module: str
    reason: str


class Forked(_Packet, frozen=True, kw_only=True):
    """A worker was forked; its process descriptor comes with this packet."""

    number: int


class ForkRefused(_Packet, frozen=True, kw_only=True):
    """The system would not fork."""

    number: int
    reason: str


class WorkerExited(_Packet, frozen=True, kw_only=True):
    """A worker was reaped. `status` is what `waitpid` gave."""

    number: int
    status: int
    cpu_us: int
    max_rss_kb: int


FromZygote = ZygoteReady | ModuleRefused | Forked | ForkRefused | WorkerExited
