"""Attacks are data for the tests beside them, and no tests themselves."""

from __future__ import annotations

collect_ignore = ["channel", "kernel", "language"]
