"""pyarrow: its parts. `settings` keeps its allocator from starting a thread when it is loaded.

It takes work to a pool of threads where a function says so; `use_threads=False` tells it not to.
"""

from __future__ import annotations

from caps.worker.inside.packages.preparation import Preparation

PREPARATIONS = (
    Preparation(
        package="pyarrow",
        parts="pyarrow.acero pyarrow.compute pyarrow.csv pyarrow.dataset pyarrow.feather "
        "pyarrow.json pyarrow.parquet",
    ),
)
