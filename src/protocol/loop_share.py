"""How much of an event loop's time one channel takes, and when it has to rest.

The loop serves each readable channel once per turn, but a message can cost far more to serve than
to send. So time is accounted: a channel may use a burst, and its debt is paid off as time passes.
Channels in debt pay it off together, at half the loop's time, so that they leave the other half to
the rest, however many they are.

A rest is taken in short pieces. If a single channel rests and nothing else has used the loop during
a piece, nobody needs what it leaves, and the rest of its debt is forgiven.
"""

from __future__ import annotations

_BURST_SECONDS = 0.05
_SHARE = 0.5
PIECE_SECONDS = 0.005
# What the timers themselves take is less, and a call of another channel about as much.
_IDLE_SECONDS = 0.0002


class LoopShare:
    """The account of one channel. Used in its event loop only."""

    __slots__ = ("_at", "_debt")

    # The channels that rest now, of all loops: there is usually one loop.
    resting = 0

    def __init__(self) -> None:
        self._debt = 0.0
        self._at = 0.0

    def charge(self, seconds: float, now: float) -> float:
        """Add what a step took, which ended `now`. Returns for how long the channel has to rest."""
        left = self._debt - (now - self._at) * _SHARE
        self._debt = left + seconds if left > 0.0 else seconds
        self._at = now
        if self._debt <= _BURST_SECONDS:
            return 0.0
        rest = self._debt / _SHARE * (1 + LoopShare.resting)
        self._debt = 0.0
        self._at = now + rest
        return rest

    def is_alone(self, others: float) -> bool:
        """Whether nobody needs the loop, which has worked for `others` seconds in one piece."""
        return LoopShare.resting <= 1 and others < _IDLE_SECONDS

    def forgive(self, now: float) -> None:
        """The channel owes nothing from `now` on."""
        self._debt = 0.0
        self._at = now
