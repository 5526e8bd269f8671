# package: scikit-learn
# modules: sklearn numpy
import numpy as np
import sklearn
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, Lasso, SGDClassifier
from sklearn.model_selection import train_test_split, cross_val_score, GridSearchCV, KFold
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score, confusion_matrix, classification_report, roc_auc_score, f1_score

# %% the version
sklearn.__version__
# %% linear models
X = np.random.default_rng(0).random((200, 4)); y = X @ [1.0, 2, 3, 4] + 1
m = LinearRegression().fit(X, y)
assert np.allclose(m.coef_, [1, 2, 3, 4]) and m.score(X, y) > 0.999
print(m)
c = (y > y.mean()).astype(int)
for kind in (LogisticRegression(), Ridge(), Lasso(0.01), SGDClassifier(random_state=0)):
    kind.fit(X, c); kind.predict(X)
# %% splitting and scoring
a, b, ya, yb = train_test_split(X, c, test_size=0.25, random_state=1)
p = LogisticRegression().fit(a, ya).predict(b)
accuracy_score(yb, p), confusion_matrix(yb, p), f1_score(yb, p), r2_score(yb, p), mean_squared_error(yb, p)
print(classification_report(yb, p))
roc_auc_score(yb, LogisticRegression().fit(a, ya).predict_proba(b)[:, 1])
# %% the data that comes with it
from sklearn import datasets
X2, y2 = datasets.load_iris(return_X_y=True)
assert X2.shape == (150, 4)
datasets.load_wine(), datasets.load_breast_cancer(), datasets.load_diabetes(), datasets.load_digits(), datasets.make_blobs(), datasets.make_classification(), datasets.make_regression(), datasets.make_moons()
# %% trees and ensembles
from sklearn.ensemble import RandomForestClassifier, GradientBoostingClassifier, RandomForestRegressor, HistGradientBoostingClassifier, IsolationForest, AdaBoostClassifier, VotingClassifier
from sklearn.tree import DecisionTreeClassifier, export_text
print(export_text(DecisionTreeClassifier(max_depth=2).fit(X2, y2)))
for k in (RandomForestClassifier(20), GradientBoostingClassifier(n_estimators=10), RandomForestRegressor(10), HistGradientBoostingClassifier(max_iter=10), AdaBoostClassifier(n_estimators=5)):
    k.fit(X2, y2)
IsolationForest(n_estimators=10).fit_predict(X2)
# %% clusters
from sklearn.cluster import KMeans, DBSCAN, AgglomerativeClustering, MeanShift, SpectralClustering
KMeans(3, n_init=2).fit(X2).labels_, DBSCAN().fit(X2), AgglomerativeClustering(3).fit(X2)
from sklearn.mixture import GaussianMixture
GaussianMixture(2).fit(X2)
# %% decomposition, manifold
from sklearn.decomposition import PCA, NMF, TruncatedSVD
from sklearn.manifold import TSNE
PCA(2).fit_transform(X2), NMF(2, max_iter=500).fit_transform(X2), TruncatedSVD(2).fit_transform(X2)
TSNE(2, perplexity=5, max_iter=250).fit_transform(X2[:40])
# %% preprocessing and pipelines
from sklearn.preprocessing import StandardScaler, OneHotEncoder, LabelEncoder, PolynomialFeatures, MinMaxScaler
from sklearn.pipeline import make_pipeline, Pipeline
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
pipe = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=500)).fit(X2, y2)
assert pipe.score(X2, y2) > 0.9
OneHotEncoder().fit_transform([["a"], ["b"]]).toarray(), LabelEncoder().fit_transform(["a", "b"]), PolynomialFeatures(2).fit_transform(X2), MinMaxScaler().fit_transform(X2)
# %% search and cross-validation
GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.1, 1]}, cv=3).fit(X2, y2).best_params_
cross_val_score(LogisticRegression(max_iter=500), X2, y2, cv=KFold(3, shuffle=True, random_state=0))
# %% neighbours, vectors, networks, bayes
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.neural_network import MLPClassifier
from sklearn.naive_bayes import GaussianNB
for k in (KNeighborsClassifier(), SVC(), GaussianNB(), MLPClassifier(max_iter=20, random_state=0)):
    k.fit(X2, y2).predict(X2)
# %% text
from sklearn.feature_extraction.text import TfidfVectorizer, CountVectorizer
t = TfidfVectorizer(stop_words="english").fit_transform(["the cat sat", "a dog ran"])
assert t.shape[0] == 2
from sklearn.metrics.pairwise import cosine_similarity
cosine_similarity(t)
# %% an estimator of one's own
from sklearn.base import BaseEstimator, TransformerMixin
class Doubler(BaseEstimator, TransformerMixin):
    def __init__(self, factor=2):
        self.factor = factor
    def fit(self, X, y=None):
        return self
    def transform(self, X):
        return X * self.factor
assert make_pipeline(Doubler(), LinearRegression()).fit(X, y).score(X, y) > 0.99
# %% `n_jobs=-1`, which is one job here
RandomForestClassifier(5, n_jobs=-1).fit(X2, y2)
