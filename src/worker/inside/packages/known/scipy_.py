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


# By part: a policy may grant `scipy.optimize` alone, and no other part is loaded for it.
PREPARATIONS = (
    Preparation(package="scipy.cluster", parts="scipy.cluster.hierarchy scipy.cluster.vq"),
    Preparation(package="scipy.integrate", exercises=(_integrate,)),
    Preparation(package="scipy.io", parts="scipy.io.wavfile"),
    Preparation(
        package="scipy.optimize",
        # The parts of `multiprocessing` are for `workers`.
        parts="scipy.optimize.elementwise scipy._lib.pyprima multiprocessing.util",
        exercises=(_optimize,),
    ),
    Preparation(package="scipy.sparse", parts="scipy.sparse.csgraph scipy.sparse.linalg"),
    Preparation(package="scipy.spatial", parts="scipy.spatial.distance scipy.spatial.transform"),
    Preparation(package="scipy.stats", parts="scipy.stats.qmc scipy.stats.sampling"),
)
