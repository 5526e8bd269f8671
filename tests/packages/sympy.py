# package: sympy
# modules: sympy numpy
import sympy as sp


# %% the version
assert sp.__version__
# %% symbols and solve
x, y, z = sp.symbols("x y z")
assert sp.solve(x**2 - 4, x) == [-2, 2]
assert sp.solve([x + y - 3, x - y - 1], [x, y]) == {x: 2, y: 1}
sp.solveset(sp.sin(x), x, sp.Interval(0, 6))
assert sp.solve(x**3 - 2*x + 1, x)
sp.solve(sp.exp(x) - 2, x)
sp.solve(x**4 + x + 1, x)
# %% nonlinear systems, inequalities
sp.solve([x**2 + y**2 - 1, x - y], [x, y])
sp.solve_univariate_inequality(x**2 < 4, x)
sp.reduce_inequalities([x > 1, x < 3], x)
sp.nsolve(sp.cos(x) - x, 1)
sp.linsolve([x + y - 1, x - y], x, y), sp.nonlinsolve([x*y - 1, x - 2], x, y)
# %% integrate
assert sp.integrate(x * sp.sin(x), x) == -x * sp.cos(x) + sp.sin(x)
assert sp.integrate(sp.exp(-x**2), (x, -sp.oo, sp.oo)) == sp.sqrt(sp.pi)
sp.integrate(1 / (x**3 + 1), x)
sp.integrate(sp.log(x) / x, (x, 1, sp.E))
sp.Integral(sp.sin(x) / x, (x, 0, 1)).evalf()
sp.integrate(sp.sqrt(1 - x**2), (x, 0, 1))
# %% differentiate, limits, series
assert sp.diff(x**3, x) == 3 * x**2
assert sp.limit(sp.sin(x) / x, x, 0) == 1
sp.series(sp.cos(x), x, 0, 6)
sp.Derivative(sp.sin(x), x).doit()
# %% simplify
assert sp.simplify(sp.sin(x)**2 + sp.cos(x)**2) == 1
assert sp.factor(x**2 - 1) == (x - 1) * (x + 1)
sp.expand((x + y)**3), sp.apart(1 / (x**2 - 1)), sp.cancel((x**2 - 1) / (x - 1)), sp.collect(x*y + x, x), sp.together(1/x + 1/y)
sp.trigsimp(sp.sin(2*x)), sp.radsimp(1/(1+sp.sqrt(2))), sp.nsimplify(0.5), sp.powsimp(x**2*x**3), sp.logcombine(sp.log(x)+sp.log(y), force=True)
# %% matrices
m = sp.Matrix([[2, 1], [1, 3]])
assert m.det() == 5
m.inv(), m.eigenvals(), m.eigenvects(), m.diagonalize(), m.rref(), m.nullspace(), m.LUsolve(sp.Matrix([1, 2])), m**-1, m.jordan_form()
print(m)
sp.pprint(m)
# %% differential equations
f = sp.Function("f")
s = sp.dsolve(f(x).diff(x) - f(x), f(x))
sp.dsolve(f(x).diff(x, 2) + f(x), f(x))
sp.checkodesol(f(x).diff(x) - f(x), s)
sp.dsolve(f(x).diff(x) + f(x)/x - x, f(x))
# %% numbers
assert sp.factorint(360) == {2: 3, 3: 2, 5: 1}
assert sp.isprime(97) and sp.primerange(10) is not None
assert sp.Rational(1, 3) + sp.Rational(1, 6) == sp.Rational(1, 2)
assert str(sp.pi.evalf(30)).startswith("3.14159265358979323846")
sp.gcd(12, 18), sp.lcm(4, 6), sp.totient(10), sp.binomial(5, 2), sp.factorial(10), sp.fibonacci(10), sp.N(sp.sqrt(2), 50)
sp.sympify("x**2 + 1"), sp.S("1/3")
# %% parsing
from sympy.parsing.sympy_parser import parse_expr, standard_transformations, implicit_multiplication_application
assert parse_expr("2*x + 1").subs(x, 2) == 5
parse_expr("2x", transformations=standard_transformations + (implicit_multiplication_application,))
# %% printing
assert sp.latex(sp.Rational(1, 2)) == "\\frac{1}{2}"
print(sp.pretty(x**2), sp.srepr(x), sp.ccode(x**2), sp.mathml(x), sp.pycode(x**2))
sp.pprint(sp.Integral(x**2, x))
print(sp.python(x**2))
# %% lambdify
g = sp.lambdify(x, x**2 + 1)
assert g(3) == 10
# %% lambdify with numpy
h = sp.lambdify(x, sp.sin(x) + x**2, "numpy")
h(1.0)
# %% subs, evalf
assert (x + y).subs({x: 1, y: 2}) == 3
(sp.sqrt(2) * x).evalf(subs={x: 2})
# %% sums and products
k, n = sp.symbols("k n", integer=True)
assert sp.summation(k, (k, 1, n)).factor() == n * (n + 1) / 2
sp.product(k, (k, 1, 5)), sp.Sum(1 / k**2, (k, 1, sp.oo)).doit()
sp.rsolve(sp.Function("u")(n + 1) - 2 * sp.Function("u")(n), sp.Function("u")(n))
# %% logic, sets
a, b = sp.symbols("a b")
sp.satisfiable(a & ~b), sp.simplify_logic(a & (a | b)), sp.Union(sp.Interval(0, 1), sp.Interval(2, 3)), sp.FiniteSet(1, 2)
sp.to_cnf(a | (b & a))
# %% polynomials
sp.Poly(x**2 + 2*x + 1).all_coeffs(), sp.groebner([x*y - 1, x - y], x, y), sp.roots(x**3 - 1, x), sp.real_roots(x**3-x-1), sp.resultant(x**2-1, x-1, x)
# %% geometry
p = sp.geometry.Point(0, 0); c = sp.Circle(p, 1)
c.area, sp.Triangle(sp.Point(0,0), sp.Point(1,0), sp.Point(0,1)).area, sp.Line((0,0),(1,1)).intersection(c)
# %% statistics
from sympy.stats import Normal, P, E as Ex, Die, density, variance
X = Normal("X", 0, 1)
assert P(X > 0) == sp.Rational(1, 2)
assert Ex(Die("D", 6)) == sp.Rational(7, 2)
# %% laplace, fourier
t, s = sp.symbols("t s", positive=True)
sp.laplace_transform(sp.exp(-t), t, s), sp.inverse_laplace_transform(1/(s+1), s, t), sp.fourier_series(x, (x, -sp.pi, sp.pi)).truncate(2)
# %% physics units
from sympy.physics.units import convert_to, kilometer, meter
convert_to(kilometer, meter)
# %% piecewise, assumptions
sp.Piecewise((x, x > 0), (0, True)).subs(x, 2), sp.ask(sp.Q.positive(sp.Integer(3))), sp.refine(sp.sqrt(x**2), sp.Q.positive(x))
# %% combinatorics
from sympy.combinatorics import Permutation, PermutationGroup
Permutation([1, 0, 2]).order()
# %% plotting as text
sp.textplot(x**2, 0, 3)
# %% formatting in a loop
print([str(sp.diff(e, x)) for e in (x**2, sp.sin(x))])
# %% C code
from sympy.utilities.codegen import codegen
codegen(("f", x**2), "C")
# %% vector
from sympy.vector import CoordSys3D
N3 = CoordSys3D("N"); (N3.i ^ N3.j)
# %% diophantine
from sympy.solvers.diophantine import diophantine
diophantine(x**2 + y**2 - 25)
# %% sympy.physics, but for its units
# error: `sympy.physics.mechanics` cannot be imported here
# why: it is large; add `sympy.physics.mechanics` to `modules`
from sympy.physics.mechanics import dynamicsymbols
# %% the last expression, as its repr
sp.integrate(x**2, x)
