"""How many examples a property test tries."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> settings:
    """`count` examples in the short profile, and as many as it says in another one."""
    is_short = settings.get_current_profile_name() == "short"
    return settings(max_examples=count if is_short else settings().max_examples, deadline=None)
