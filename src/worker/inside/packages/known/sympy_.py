"""sympy: solvers, transforms and printers are imported when they are first needed."""

from __future__ import annotations

from caps.worker.inside.packages.preparation import Preparation


def _solve_and_integrate() -> None:
    import sympy

    x = sympy.Symbol("x")
    sympy.solve(x**2 - 2, x)
    sympy.integrate(x * sympy.sin(x), (x, 0, sympy.pi))
    sympy.simplify(sympy.sin(x) ** 2 + sympy.cos(x) ** 2)
    # Without the last argument it would load numpy and scipy, if they are installed.
    sympy.lambdify(x, x**2, ["math", "mpmath", "sympy"])(2)
    sympy.pi.evalf(30)
    sympy.dsolve(sympy.Function("f")(x).diff(x), sympy.Function("f")(x))


PREPARATIONS = (
    Preparation(
        package="sympy",
        parts="sympy.abc sympy.algebras.* sympy.assumptions.* sympy.calculus.* sympy.codegen.* "
        "sympy.combinatorics.* sympy.concrete.* sympy.core.* sympy.crypto.* sympy.discrete.* "
        "sympy.functions.* sympy.geometry.* sympy.holonomic.* sympy.integrals.* sympy.logic.* "
        "sympy.matrices.* sympy.ntheory.* sympy.parsing.sympy_parser sympy.parsing.latex "
        "sympy.physics.units.* sympy.plotting.* sympy.polys.* sympy.printing.* sympy.series.* "
        "sympy.sets.* sympy.simplify.* sympy.solvers.* sympy.stats.* sympy.tensor.* "
        "sympy.utilities.* sympy.vector.* xml.dom.minidom",
        skipped="sympy.core.compatibility sympy.core.trace sympy.integrals.meijerint_doc "
        "sympy.plotting.pygletplot sympy.printing.preview sympy.simplify.hyperexpand_doc "
        "sympy.stats.sampling sympy.utilities._compilation sympy.utilities.benchmarking "
        "sympy.utilities.pytest sympy.utilities.randtest sympy.utilities.runtests "
        "sympy.utilities.tmpfiles",
        exercises=(_solve_and_integrate,),
    ),
)
