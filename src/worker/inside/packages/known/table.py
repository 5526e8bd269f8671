"""The packages that are prepared. A package comes after those that it is built on."""

from __future__ import annotations

from caps.worker.inside.packages.known import (
    dateutil_,
    matplotlib_,
    numpy_,
    openpyxl_,
    pandas_,
    pyarrow_,
    requests_,
    scipy_,
    sklearn_,
    sympy_,
)

PREPARATIONS = (
    *numpy_.PREPARATIONS,
    *dateutil_.PREPARATIONS,
    *matplotlib_.PREPARATIONS,
    *openpyxl_.PREPARATIONS,
    *pandas_.PREPARATIONS,
    *pyarrow_.PREPARATIONS,
    *requests_.PREPARATIONS,
    *scipy_.PREPARATIONS,
    *sklearn_.PREPARATIONS,
    *sympy_.PREPARATIONS,
)
