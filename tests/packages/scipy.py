# package: scipy
# modules: scipy numpy
import numpy as np
import scipy
from scipy import optimize, stats, integrate, interpolate, linalg, signal, sparse, spatial, special, ndimage, fft, cluster

# %% the version
scipy.__version__
# %% optimize
r = optimize.minimize(lambda x: (x[0] - 1) ** 2 + (x[1] + 2) ** 2, [0, 0])
assert np.allclose(r.x, [1, -2], atol=1e-4)
assert abs(optimize.brentq(lambda x: x**2 - 2, 0, 2) - 2**0.5) < 1e-9
popt, _ = optimize.curve_fit(lambda x, a, b: a * x + b, np.arange(5.0), np.arange(5.0) * 2 + 1)
assert np.allclose(popt, [2, 1])
optimize.linprog([-1, -2], A_ub=[[1, 1]], b_ub=[4])
optimize.root(lambda x: x**2 - 4, 1.0), optimize.fsolve(lambda x: x**2 - 4, 1.0), optimize.least_squares(lambda x: x - 1, [0.0])
optimize.differential_evolution(lambda x: (x[0] - 1) ** 2, [(-2, 2)], seed=1)
optimize.milp([1.0], bounds=optimize.Bounds(0, 1)), optimize.linear_sum_assignment([[1, 2], [2, 1]])
for method in ("Nelder-Mead", "BFGS", "L-BFGS-B", "SLSQP", "Powell", "COBYLA", "trust-constr", "CG", "TNC"):
    optimize.minimize(lambda x: (x[0] - 1) ** 2, [0.0], method=method)
# %% statistics
a, b = np.arange(20.0), np.arange(20.0) + 1
assert stats.ttest_ind(a, b).pvalue > 0.05
stats.pearsonr(a, b), stats.spearmanr(a, b), stats.linregress(a, b), stats.shapiro(a), stats.chi2_contingency([[1, 2], [3, 4]]), stats.mannwhitneyu(a, b), stats.f_oneway(a, b), stats.kstest(a, "norm"), stats.zscore(a), stats.describe(a), stats.mode(a), stats.gaussian_kde(a)(1.0)
stats.norm.cdf(0), stats.norm.rvs(size=3, random_state=1), stats.t.ppf(0.975, 10), stats.binom.pmf(1, 3, 0.5), stats.bootstrap((a,), np.mean, n_resamples=50).confidence_interval, stats.norm.fit(a)
# %% integrate
assert abs(integrate.quad(lambda x: x**2, 0, 3)[0] - 9) < 1e-9
s = integrate.solve_ivp(lambda t, y: -y, [0, 1], [1.0])
assert abs(s.y[0, -1] - np.exp(-1)) < 1e-3
integrate.odeint(lambda y, t: -y, 1.0, [0, 1]), integrate.simpson([1, 2, 3]), integrate.dblquad(lambda y, x: x * y, 0, 1, 0, 1)
# %% interpolate
interpolate.interp1d([0, 1], [0, 1])(0.5), interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(1.5), interpolate.griddata(np.eye(3)[:, :2], [1, 2, 3], [[0.2, 0.2]]), interpolate.UnivariateSpline(range(6), range(6))(2), interpolate.RBFInterpolator(np.random.default_rng(0).random((6, 2)), np.arange(6.0))([[0.5, 0.5]])
# %% linear algebra, sparse
m = np.array([[4.0, 1], [1, 3]])
linalg.lu(m), linalg.expm(m), linalg.solve(m, [1, 2]), linalg.eigh(m), linalg.svd(m), linalg.null_space(m), linalg.sqrtm(m)
S = sparse.csr_matrix(m); sparse.linalg.spsolve(S.tocsc(), [1, 2]), (S @ S).toarray(), sparse.linalg.eigsh(sparse.diags([1.0, 2, 3, 4]), k=1), sparse.csgraph.shortest_path(S), sparse.csgraph.connected_components(S), sparse.linalg.cg(S, [1.0, 2.0])
# %% signal, fft, ndimage
signal.find_peaks([0, 1, 0, 2, 0]), signal.butter(2, 0.1), signal.filtfilt(*signal.butter(2, 0.1), np.arange(30.0)), signal.welch(np.arange(300.0)), signal.convolve([1, 2], [1, 1]), signal.spectrogram(np.arange(600.0)), signal.savgol_filter(np.arange(10.0), 5, 2)
fft.fft(np.arange(8.0)), fft.dct(np.arange(8.0)), ndimage.gaussian_filter(np.eye(5), 1), ndimage.label(np.eye(5)), ndimage.zoom(np.eye(5), 2), ndimage.rotate(np.eye(4), 45)
# %% spatial, cluster, special
pts = np.random.default_rng(0).random((20, 2))
spatial.KDTree(pts).query([0.5, 0.5]), spatial.ConvexHull(pts).volume, spatial.Delaunay(pts), spatial.distance.cdist(pts, pts), spatial.Voronoi(pts), spatial.transform.Rotation.from_euler("x", 90, degrees=True).as_matrix()
cluster.hierarchy.fcluster(cluster.hierarchy.linkage(pts), 3, "maxclust"), cluster.vq.kmeans(pts, 2)
special.gamma(5), special.erf(1), special.comb(5, 2), special.expit(0.0), special.softmax([1.0, 2.0]), special.jv(0, 1.0)
# %% constants, a file in memory
import io
scipy.constants.c, scipy.constants.physical_constants["electron mass"]
b = io.BytesIO(); scipy.io.savemat(b, {"a": np.eye(2)}); b.seek(0); scipy.io.loadmat(b)
b = io.BytesIO(); scipy.io.wavfile.write(b, 8000, np.zeros(10, "int16"))
# %% `workers=2`
# error: No module named 'multiprocessing.pool'
# why: a worker is one process with one thread
optimize.differential_evolution(lambda x: (x[0] - 1) ** 2, [(-2, 2)], seed=1, workers=2)
