"""How many examples a property test tries."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> settings:
    """`count` examples in the short profile; as many as the long profile says in the long one."""
    return settings(max_examples=max(count, settings().max_examples), deadline=None)
