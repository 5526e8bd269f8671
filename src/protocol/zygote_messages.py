"""The packets between host and zygote: a closed set, over a socket that keeps packets whole.

The host orders forks and passes the worker's end of a channel; the zygote returns a process
descriptor. Nothing here comes from untrusted code or goes to it.
"""

from __future__ import annotations

import msgspec

from caps.protocol.enforcement import Layer

MAX_PACKET_BYTES = 64 * 1024
# More than an order has: it only says which group the worker enters.
MAX_ORDER_BYTES = 256

# The exit status of a worker that could not enter its memory group.
GROUP_REFUSED = 3
# The exit status of a worker that was out of memory and could not send a result.
OUT_OF_MEMORY = 4


class _Packet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """Base of all packets."""


class ForkOrder(_Packet, frozen=True, kw_only=True):
    """Fork a worker on the channel that comes with this packet.

    `grouped`: a second descriptor comes with it, through which the worker enters its memory group
    before anything else.
    """

    number: int
    grouped: bool = False


class ZygoteReady(_Packet, frozen=True, kw_only=True):
    """The zygote is confined and waits for orders."""

    layers: list[Layer]


class ModuleRefused(_Packet, frozen=True, kw_only=True):
    """A real module cannot be provided; the zygote exits. `reason` is one line."""

    module: str
    reason: str


class Forked(_Packet, frozen=True, kw_only=True):
    """A worker was forked; its process descriptor comes with this packet."""

    number: int


class ForkRefused(_Packet, frozen=True, kw_only=True):
    """The system refused to fork."""

    number: int
    reason: str


class WorkerExited(_Packet, frozen=True, kw_only=True):
    """A worker was reaped. `status` is the one of `waitpid`."""

    number: int
    status: int
    cpu_us: int
    max_rss_kb: int


FromZygote = ZygoteReady | ModuleRefused | Forked | ForkRefused | WorkerExited
