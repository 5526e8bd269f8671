"""matplotlib: the backend Agg, and its own fonts in memory. System fonts are not loaded."""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from typing import Any

from caps.worker.inside.packages import data_files
from caps.worker.inside.packages.preparation import Preparation


def _keep_fonts() -> None:
    import matplotlib as mpl

    fonts = Path(mpl.get_data_path()) / "fonts"
    data_files.keep(fonts, "*.ttf")
    data_files.keep(fonts, "*.afm")
    manager: Any = importlib.import_module("matplotlib.font_manager").fontManager
    manager.ttflist = [font for font in manager.ttflist if fonts in Path(font.fname).parents]
    manager.afmlist = [font for font in manager.afmlist if fonts in Path(font.fname).parents]


def _draw() -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot([1, 2], [1, 2], label=r"$\frac{a}{b}$")
    axes.legend()
    for kind in ("png", "svg", "pdf"):
        figure.savefig(io.BytesIO(), format=kind)
    plt.close(figure)


PREPARATIONS = (
    Preparation(
        package="matplotlib",
        parts="contourpy matplotlib.pyplot matplotlib.backends.backend_agg "
        "matplotlib.backends.backend_pdf matplotlib.backends.backend_ps "
        "matplotlib.backends.backend_svg "
        "matplotlib.projections.* mpl_toolkits.mplot3d mpl_toolkits.axes_grid1",
        exercises=(_keep_fonts, _draw),
    ),
)
