# modules: numpy matplotlib sympy scipy sklearn networkx
# %% arrays: shapes, masks, broadcasting, printing
import numpy as np

a = np.arange(12).reshape(3, 4)
print(a, a.T.shape, a[a % 2 == 0], a.mean(axis=0), a.sum(), a.std(ddof=1).round(4))
print(np.where(a > 5, a, -1), np.clip(a, 2, 7).tolist(), np.linspace(0, 1, 5))
print(np.concatenate([a, a[:1] * 10]), np.unique([3, 1, 3], return_counts=True))
print(repr(np.float64(1.5)), np.int64(3), a.dtype, np.array(["x", "yy"]), np.nan == np.nan)
print(np.linalg.solve([[2, 1], [1, 3]], [3, 5]), np.linalg.inv(np.eye(2) * 4))
print(np.random.default_rng(3).normal(size=3).round(4), np.random.RandomState(1).randint(0, 9, 4))
np.random.seed(0)
print(np.random.rand(2), np.random.choice([1, 2, 3], 2))
try:
    np.ones((2, 3)) @ np.ones((2, 3))
except ValueError as error:
    print(error)
try:
    np.ones(3) + np.ones(4)
except ValueError as error:
    print(error)
with np.errstate(divide="ignore"):
    print(np.array([1.0]) / 0)
print(np.array([1, 2.5]).tolist(), np.einsum("ij->j", a), np.histogram([1, 2, 2, 5], bins=3))
np.set_printoptions(precision=2, suppress=True)
print(np.array([1 / 3, 1e-9]))
print(np.vectorize(lambda x: x * 2)(np.array([1, 2])), np.loadtxt(["1 2", "3 4"]))
# %% a simulation of a random walk
import numpy as np

rng = np.random.default_rng(42)
steps = rng.choice([-1, 1], size=(1000, 50))
paths = steps.cumsum(axis=1)
print(paths[:, -1].mean().round(3), paths.max(), (paths.min(axis=1) < -5).mean(), np.percentile(paths[:, -1], [5, 50, 95]))
# %% a figure in memory, and its size
import base64
import io
import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

fig, axes = plt.subplots(1, 2, figsize=(6, 3), dpi=50)
x = np.linspace(0, 6, 50)
axes[0].plot(x, np.sin(x), label="sin")
axes[0].legend()
axes[0].set_title("waves")
axes[1].bar(["a", "b"], [3, 5])
axes[1].set_ylabel("n")
fig.tight_layout()
buffer = io.BytesIO()
fig.savefig(buffer, format="png")
plt.close(fig)
data = buffer.getvalue()
print(data[:8], int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))
print(base64.b64encode(data)[:12].decode(), [t.get_text() for t in axes[0].get_legend().get_texts()])
print(plt.get_fignums(), axes[1].get_ylim(), len(axes[0].lines))
# %% equations and integrals
import sympy as sp

x, y = sp.symbols("x y", real=True)
print(sp.solve(x**2 - 5 * x + 6, x), sp.solve([x + y - 3, x - y - 1], [x, y]))
print(sp.integrate(sp.exp(-(x**2)), (x, -sp.oo, sp.oo)), sp.diff(sp.sin(x) ** 2, x), sp.limit(sp.sin(x) / x, x, 0))
print(sp.factor(x**3 - 1), sp.expand((x + 1) ** 4), sp.simplify((x**2 - 1) / (x - 1)))
print(sp.series(sp.cos(x), x, 0, 6), sp.Matrix([[1, 2], [3, 4]]).eigenvals(), sp.N(sp.pi, 20))
sp.pprint(sp.Integral(x / (y + 1), x), use_unicode=True)
print(sp.latex(sp.sqrt(x) / 2), sp.srepr(x + 1), sp.Rational(3, 7) + sp.Rational(1, 2), sp.factorint(360))
n = sp.symbols("n", integer=True, positive=True)
print(sp.summation(1 / n**2, (n, 1, sp.oo)), sp.nsimplify(0.125), sp.lambdify(x, x**2 + 1)(3))
f = sp.Function("f")
print(sp.dsolve(f(x).diff(x) - f(x), f(x)), sp.sympify("2*x + sin(y)").subs({x: 1, y: 0}))
# %% optimisation, statistics, interpolation
import numpy as np
from scipy import integrate, interpolate, optimize, stats

found = optimize.minimize(lambda p: (p[0] - 1) ** 2 + (p[1] + 2) ** 2, [0, 0])
print(found.success, found.x.round(4))
print(round(optimize.brentq(lambda x: x**3 - 2, 0, 2), 6), optimize.linprog([-1, -2], A_ub=[[1, 1]], b_ub=[4]).x)
params, _ = optimize.curve_fit(lambda x, a, b: a * x + b, np.arange(5), np.arange(5) * 2.0 + 1)
print(params.round(6), round(integrate.quad(np.sin, 0, np.pi)[0], 10))
print(stats.ttest_ind([1, 2, 3, 4], [2, 3, 4, 9]).pvalue.round(6), stats.pearsonr([1, 2, 3], [2, 4, 7])[0].round(6))
print(stats.norm.cdf(1.96).round(5), stats.linregress([1, 2, 3], [2, 4, 6.5]).slope)
print(interpolate.interp1d([0, 1, 2], [0, 1, 4])(1.5), interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(1.5).round(4))
# %% a classifier, its report and its confusion matrix
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = make_classification(n_samples=120, n_features=5, random_state=1)
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.25, random_state=1)
model = make_pipeline(StandardScaler(), LogisticRegression())
model.fit(Xa, ya)
print(model)
print(accuracy_score(yb, model.predict(Xb)), confusion_matrix(yb, model.predict(Xb)).tolist())
print(classification_report(yb, model.predict(Xb)))
forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(Xa, ya)
print(forest.feature_importances_.round(3), cross_val_score(forest, X, y, cv=3).round(3))
print(LinearRegression().fit([[1], [2], [3]], [2, 4, 6]).predict([[4]]).round(4))
try:
    model.predict([[1, 2]])
except ValueError as error:
    print(error)
try:
    LogisticRegression().predict([[1]])
except Exception as error:
    print(type(error).__name__, error)
# %% clusters and words
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer

points = np.array([[1, 1], [1.2, 0.9], [8, 8], [8.1, 7.9]])
labels = KMeans(n_clusters=2, n_init=3, random_state=0).fit_predict(points)
print(labels[0] == labels[1], labels[2] == labels[3], PCA(1).fit(points).explained_variance_ratio_.round(4))
words = TfidfVectorizer().fit(["a red fox", "a blue whale", "red whale"])
print(words.get_feature_names_out(), words.transform(["red fox"]).toarray().round(3))
# %% a network of roads
import networkx as nx

g = nx.Graph()
g.add_weighted_edges_from([("a", "b", 4), ("b", "c", 1), ("a", "c", 7), ("c", "d", 3)])
print(g, nx.shortest_path(g, "a", "d", weight="weight"), nx.dijkstra_path_length(g, "a", "d"))
print(sorted(nx.degree_centrality(g).items()), nx.is_connected(g), list(nx.bfs_tree(g, "a").edges))
print(nx.pagerank(g)["a"].__round__(4), nx.minimum_spanning_tree(g).size(weight="weight"))
d = nx.DiGraph([(1, 2), (2, 3), (1, 3)])
print(list(nx.topological_sort(d)), nx.to_dict_of_lists(d), nx.adjacency_matrix(d).toarray().tolist())
try:
    nx.shortest_path(d, 3, 1)
except nx.NetworkXNoPath as error:
    print(error)
# %% polynomials and a game of chance
import numpy as np
from numpy.polynomial import Polynomial

print(Polynomial([6, -5, 1]).roots(), np.polyfit([0, 1, 2, 3], [1, 3, 5, 7], 1).round(6), np.roots([1, 0, -4]))
rng = np.random.default_rng(0)
print(rng.permutation(5), rng.integers(1, 7, (2, 3)), rng.multinomial(10, [0.2, 0.8]), rng.binomial(10, 0.5))
print(np.array([[1, 2], [3, 4]]).astype("U"), np.datetime64("2024-02-28") + np.arange(3), np.busday_count("2024-01-01", "2024-02-01"))
# %% letters of a word problem
from sympy import Eq, Symbol, simplify, solve, symbols
from sympy.parsing.sympy_parser import parse_expr

age, years = symbols("age years", positive=True)
print(solve([Eq(age + years, 2 * age), Eq(age, 3 * years - 10)], [age, years], dict=True))
print(parse_expr("(a + 1)**2").expand(), simplify("sin(t)**2 + cos(t)**2"), Symbol("α") + 1)
print(solve(Eq(Symbol("x") ** 4, 16)), Eq(Symbol("x"), 1), repr(Symbol("x") ** 2 / 3))
# %% warnings of a package: recorded, turned into errors, ignored
import warnings
import numpy as np

for _ in range(2):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        print(np.array([1.0, 0.0]) / np.array([0.0, 0.0]), np.mean([]))
    print([(one.category.__name__, str(one.message)) for one in caught])
with warnings.catch_warnings():
    warnings.filterwarnings("error", category=RuntimeWarning)
    try:
        np.log(-1.0)
    except RuntimeWarning as error:
        print("RuntimeWarning", error)
print(np.array([1.0]) / 0)
warnings.filterwarnings("ignore", message="divide")
print(np.array([1.0]) / 0)
