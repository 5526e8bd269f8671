# package: numpy
# modules: numpy
import numpy as np
import io

# %% the version
assert int(np.__version__.split(".")[0]) >= 2
# %% arrays
a = np.arange(12).reshape(3, 4)
print(a, a.T, a.sum(axis=0), a.mean(), a.std())
assert a[1:, ::2].tolist() == [[4, 6], [8, 10]]
assert a[a > 5].sum() == 51
a[0, 0] = 7
a[1] += 1
assert (a @ a.T).shape == (3, 3)
# %% linear algebra
m = np.array([[2.0, 1.0], [1.0, 3.0]])
assert np.allclose(np.linalg.solve(m, [1, 2]), [0.2, 0.6])
w, v = np.linalg.eigh(m)
np.linalg.svd(m), np.linalg.inv(m), np.linalg.det(m), np.linalg.qr(m), np.linalg.lstsq(m, [1, 2], rcond=None)
np.linalg.norm(m), np.linalg.pinv(m), np.linalg.cholesky(m), np.linalg.matrix_rank(m)
big = np.random.default_rng(0).random((400, 400))
assert np.allclose(np.linalg.inv(big) @ big, np.eye(400))
# %% random numbers
r = np.random.default_rng(42)
r.normal(size=3), r.integers(0, 10, 5), r.choice([1, 2, 3], 2), r.permutation(5)
np.random.seed(1); np.random.rand(3); np.random.randn(2, 2); np.random.randint(1, 5)
# %% fft, polynomials
assert np.allclose(np.fft.ifft(np.fft.fft([1, 2, 3])), [1, 2, 3])
assert np.allclose(np.roots([1, -3, 2]), [2, 1])
p = np.polynomial.Polynomial.fit([0, 1, 2], [1, 3, 5], 1)
print(p)
np.polyfit([0, 1, 2], [1, 3, 5], 1)
np.poly1d([1, 2])(3)
# %% structured, masked, datetime
s = np.array([("a", 1)], dtype=[("name", "U5"), ("n", "i4")])
assert s["n"].sum() == 1
assert np.ma.masked_less([1, 2, 3], 2).sum() == 5
d = np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[D]")
assert (d[1] - d[0]) == np.timedelta64(31, "D")
np.busday_count("2024-01-01", "2024-02-01")
# %% text and binary files in memory
assert np.loadtxt(io.StringIO("1 2\n3 4")).sum() == 10
out = io.StringIO(); np.savetxt(out, [[1, 2]]); out.getvalue()
assert np.genfromtxt(io.StringIO("1,2\n3,"), delimiter=",").shape == (2, 2)
b = io.BytesIO(); np.save(b, np.ones(3)); b.seek(0); assert np.load(b).sum() == 3
b = io.BytesIO(); np.savez_compressed(b, a=np.ones(3)); b.seek(0); assert np.load(b)["a"].sum() == 3
# %% selecting, sorting, stacking, statistics, interpolation
np.where(a > 3, 1, 0), np.select([a > 3], [1]), np.unique(a, return_counts=True), np.argsort(a[0])
np.histogram([1, 2, 2, 3], bins=3), np.percentile([1, 2, 3], 50), np.median([1, 2]), np.cov([1, 2], [2, 3]), np.corrcoef([1, 2], [2, 4])
np.concatenate([a, a]), np.vstack([a, a]), np.hstack([a, a]), np.stack([a, a]), np.split(a[0], 2), np.tile(a, 2)
np.vectorize(lambda x: x + 1)([1, 2])
np.apply_along_axis(lambda r: r.sum(), 1, a)
np.einsum("ij,kj->ik", a, a)
np.interp(1.5, [1, 2], [10, 20]), np.cumsum([1, 2]), np.diff([1, 4]), np.gradient([1.0, 2, 4]), np.trapezoid([1, 2])
np.meshgrid([1, 2], [3, 4]), np.linspace(0, 1, 5), np.outer([1], [2]), np.kron([1], [2]), np.convolve([1, 2], [1, 1])
np.array2string(a), np.array_equal(a, a), np.isclose(1, 1), np.nan_to_num([np.nan])
with np.errstate(divide="ignore"):
    np.array([1.0]) / 0
# %% iterating, unpacking
assert [int(x) for x in np.array([1, 2])] == [1, 2]
x, y = np.array([1, 2])
for i, row in enumerate(a):
    row.sum()
for v in np.nditer(a):
    pass
assert sum(np.array([1, 2])) == 3 and max(np.array([1, 2])) == 2
# %% string functions, `numpy.testing`, print options
np.char.upper(["a"]); np.strings.upper(np.array(["a"]))
np.testing.assert_allclose([1], [1])
np.set_printoptions(precision=3); print(np.array([1.23456]))
# %% scalars and their formats
f = np.float64(1.5)
assert f"{f:.2f}" == "1.50" and round(f) == 2 and int(np.int64(3)) == 3
np.int64(3).item(), np.bool_(True)
# %% a class derived from `ndarray`
class A(np.ndarray):
    pass
np.ones(2).view(A)
# %% products of large matrices
m = np.ones((500, 500)); assert (m @ m)[0, 0] == 500
# %% `numpy.info`
# error: No module named 'pydoc'
# why: it needs `pydoc`; use `print(f.__doc__)`
np.info(np.add)
# %% its warnings are shown at the line of the code, and `warnings` filters them
import contextlib, io, warnings
shown = io.StringIO()
with contextlib.redirect_stderr(shown):
    np.array([1.0]) / 0
assert "RuntimeWarning: divide by zero encountered in divide" in shown.getvalue()
assert "site-packages" not in shown.getvalue()
with contextlib.redirect_stderr(io.StringIO()) as shown, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    np.mean([])
assert shown.getvalue() == ""
