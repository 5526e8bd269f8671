"""scipy: some solvers are imported when they are chosen by name."""

from __future__ import annotations

from caps.worker.inside.packages.preparation import Preparation


def _integrate() -> None:
    import scipy.integrate

    # It looks for `ctypes` the first time, which workers do not find.
    scipy.integrate.quad(abs, 0, 1)
    scipy.integrate.odeint(lambda y, _t: -y, 1.0, [0, 1])


def _optimize() -> None:
    import scipy.optimize

    scipy.optimize.linprog([-1, -2], A_ub=[[1, 1]], b_ub=[4])
    scipy.optimize.minimize(lambda x: (x[0] - 1) ** 2, [0.0], method="COBYLA")


PREPARATIONS = (
    Preparation(
        package="scipy",
        parts="scipy.cluster.hierarchy scipy.cluster.vq scipy.io.wavfile "
        "scipy.optimize.elementwise "
        "scipy.sparse.csgraph scipy.sparse.linalg scipy.spatial.distance "
        "scipy.spatial.transform scipy.stats.qmc scipy.stats.sampling scipy._lib.pyprima",
        exercises=(_integrate, _optimize),
    ),
)
