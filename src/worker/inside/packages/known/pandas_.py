"""pandas: it imports most of its parts when a method is first called."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from caps.worker.inside.packages import data_files
from caps.worker.inside.packages.preparation import Preparation


def _frame() -> Any:
    import pandas as pd

    return pd.DataFrame({"k": ["a", "b", "a"], "n": [1, 2, 3], "x": [0.5, None, 2.5]})


def _print() -> None:
    frame = _frame()
    frame.info(buf=io.StringIO())
    for text in (repr(frame), repr(frame["k"]), frame.to_string(), frame.to_html()):
        text.strip()


def _read_and_write() -> None:
    import pandas as pd

    frame = _frame()
    pd.read_csv(io.StringIO(frame.to_csv()))
    pd.read_csv(io.StringIO("a;b\n1;2"), sep=";", engine="python")
    pd.read_json(io.StringIO(frame.to_json()))
    packed = io.BytesIO()
    frame.to_csv(packed, compression="gzip")


def _group_and_join() -> None:
    import pandas as pd

    frame = _frame()
    frame.groupby("k").agg({"n": "sum"}).describe()
    frame.merge(frame, on="k")
    frame.query("n > 1 and k == 'a'")
    pd.crosstab(frame["k"], frame["n"])
    frame.pivot_table(index="k", values="n", aggfunc="sum")


def _dates() -> None:
    import pandas as pd

    pd.to_datetime(["5 January 2024", "6 January 2024"])
    times = pd.date_range("2024-01-01", periods=3, freq="h", tz="UTC")
    pd.Series(range(3), index=times.tz_convert("Europe/Rome")).resample("D").sum()


def _keep_templates() -> None:
    import pandas as pd

    data_files.keep(Path(pd.__file__).parent / "io", "*.tpl")


PREPARATIONS = (
    Preparation(
        package="pandas",
        parts="pandas.core.* pandas.io.* pandas.tseries.* xml.etree.ElementTree",
        skipped="pandas.core._numba pandas.io.formats.style pandas.io.formats.style_render",
        exercises=(_print, _read_and_write, _group_and_join, _dates),
    ),
    Preparation(
        package="pandas",
        needs=("jinja2",),
        parts="pandas.io.formats.style",
        exercises=(_keep_templates,),
    ),
    Preparation(package="pandas", needs=("matplotlib",), parts="pandas.plotting._matplotlib.*"),
)
