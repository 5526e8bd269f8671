"""numpy: its parts, also where it is not granted itself but another package is built on it."""

from __future__ import annotations

from caps.worker.inside.packages.preparation import Preparation

PREPARATIONS = (
    Preparation(
        package="numpy",
        parts="numpy.char numpy.fft numpy.lib numpy.linalg numpy.ma numpy.polynomial numpy.random "
        "numpy.rec numpy.strings numpy.testing",
    ),
)
