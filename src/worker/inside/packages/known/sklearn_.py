"""scikit-learn: its own data sets in memory, and the parts that print a model."""

from __future__ import annotations

from pathlib import Path

from caps.worker.inside.packages import data_files
from caps.worker.inside.packages.preparation import Preparation


def _keep_data_sets() -> None:
    import sklearn

    datasets = Path(sklearn.__file__).parent / "datasets"
    for pattern in ("*.csv", "*.csv.gz", "*.rst"):
        data_files.keep(datasets, pattern)


def _fit() -> None:
    from sklearn.cluster import KMeans
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    data, classes = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    model = make_pipeline(LogisticRegression()).fit(data, classes)
    repr(model)
    KMeans(2, n_init=1).fit(data)  # it looks for the libraries that use threads, once
    HistGradientBoostingClassifier(max_iter=1).fit(data, classes)


PREPARATIONS = (
    Preparation(
        package="sklearn",
        parts="scipy.cluster.hierarchy sklearn.datasets.data sklearn.datasets.descr "
        "sklearn.ensemble.* "
        "sklearn.experimental.enable_iterative_imputer sklearn.inspection.* "
        "sklearn.linear_model.* sklearn.metrics.* sklearn.model_selection.* sklearn.utils.*",
        skipped="sklearn.utils._mocking sklearn.utils._test_common sklearn.utils._testing "
        "sklearn.utils.estimator_checks",
        exercises=(_keep_data_sets, _fit),
    ),
)
