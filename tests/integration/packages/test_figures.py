"""Figures of a real matplotlib: drawn without a display, with fonts in memory, and handed out."""

from __future__ import annotations

from caps import MemoryAuditLog, Runtime
from caps.providers.builtin import builtin_registry

POLICY = {"allow": ["artifacts.save"], "modules": ["matplotlib", "pandas"]}
SOURCE = """
import matplotlib.pyplot as plt
import pandas as pd
plt.plot([1, 2, 3])
plt.title("façade")
plt.show()
pd.DataFrame({"a": [1, 2]}).plot()
plt.show()
"""


def test_show_hands_out_each_figure_as_a_picture() -> None:
    """Those of pandas, too."""
    with Runtime(POLICY, registry=builtin_registry(), audit=MemoryAuditLog()) as runtime:
        result = runtime.run_sync(SOURCE)
    assert result.ok, result.error
    assert [artifact.name for artifact in result.artifacts] == ["figure-1.png", "figure-2.png"]
    assert all(artifact.size > 5000 for artifact in result.artifacts)
