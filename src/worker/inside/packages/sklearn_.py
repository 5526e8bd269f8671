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
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    data, classes = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    model = make_pipeline(LogisticRegression()).fit(data, classes)
    repr(model)
    HistGradientBoostingClassifier(max_iter=1).fit(data, classes)


PREPARATIONS = (
    Preparation(
        package="sklearn",
        parts="sklearn.datasets.data sklearn.datasets.descr sklearn.ensemble.* "
        "sklearn.experimental.enable_iterative_imputer sklearn.inspection.* "
        "sklearn.linear_model.* sklearn.metrics.* sklearn.model_selection.* sklearn.utils.*",
        exercises=(_keep_data_sets, _fit),
    ),
)
