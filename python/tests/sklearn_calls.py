"""Functions of scikit-learn for any array API library: run by array_libraries.py. Each is a function of `A`, which makes
an array of the library."""

import numpy as np
from sklearn import (
    covariance,
    decomposition,
    discriminant_analysis,
    kernel_approximation,
    linear_model,
    metrics,
    mixture,
    model_selection,
    naive_bayes,
    pipeline,
    preprocessing,
    utils,
)
from sklearn.base import clone

_RNG = np.random.default_rng(0)
X = _RNG.standard_normal((60, 5))
TARGETS = X @ _RNG.standard_normal(5)
LABELS = (X[:, 0] + 0.3 * _RNG.standard_normal(60) > 0).astype("int64")
OTHERS = np.roll(LABELS, 1)
CHANCES = _RNG.dirichlet([1, 1], 60)
POSITIVE, BACKWARD = np.abs(TARGETS) + 0.1, np.abs(TARGETS[::-1]) + 0.1

TRANSFORMERS = {
    "StandardScaler": preprocessing.StandardScaler(),
    "MinMaxScaler": preprocessing.MinMaxScaler(),
    "MaxAbsScaler": preprocessing.MaxAbsScaler(),
    "Normalizer": preprocessing.Normalizer(),
    "Binarizer": preprocessing.Binarizer(),
    "PolynomialFeatures": preprocessing.PolynomialFeatures(2),
    "PCA": decomposition.PCA(2, svd_solver="full"),
    "PCA by covariances": decomposition.PCA(2, svd_solver="covariance_eigh"),
    "PCA at random": decomposition.PCA(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0),
    "PCA, whitened": decomposition.PCA(3, svd_solver="full", whiten=True),
    "Nystroem": kernel_approximation.Nystroem(n_components=5, random_state=0),
}
CLASSIFIERS = {
    "LinearDiscriminantAnalysis": discriminant_analysis.LinearDiscriminantAnalysis(),
    "RidgeClassifier": linear_model.RidgeClassifier(solver="svd"),
    "RidgeClassifierCV": linear_model.RidgeClassifierCV(),
    "GaussianNB": naive_bayes.GaussianNB(),
    "LogisticRegression": linear_model.LogisticRegression(solver="lbfgs"),
}
REGRESSORS = {
    "Ridge": (linear_model.Ridge(solver="svd"), TARGETS),
    "RidgeCV": (linear_model.RidgeCV(), TARGETS),
    "PoissonRegressor": (linear_model.PoissonRegressor(), POSITIVE),
}
OF_LABELS = (
    "accuracy_score", "balanced_accuracy_score", "class_likelihood_ratios", "cohen_kappa_score", "confusion_matrix",
    "f1_score", "hamming_loss", "jaccard_score", "matthews_corrcoef", "multilabel_confusion_matrix",
    "precision_recall_fscore_support", "precision_score", "recall_score", "zero_one_loss",
)  # fmt: skip
OF_NUMBERS = (
    "d2_absolute_error_score", "d2_pinball_score", "d2_tweedie_score", "explained_variance_score", "max_error",
    "mean_absolute_error", "mean_absolute_percentage_error", "mean_gamma_deviance", "mean_pinball_loss",
    "mean_poisson_deviance", "mean_squared_error", "mean_squared_log_error", "mean_tweedie_deviance",
    "median_absolute_error", "r2_score", "root_mean_squared_error", "root_mean_squared_log_error",
)  # fmt: skip
OF_CHANCES = ("average_precision_score", "brier_score_loss", "det_curve", "precision_recall_curve", "roc_auc_score",
              "roc_curve")  # fmt: skip
KERNELS = (
    "additive_chi2_kernel", "chi2_kernel", "cosine_distances", "cosine_similarity", "euclidean_distances",
    "laplacian_kernel", "linear_kernel", "manhattan_distances", "paired_cosine_distances",
    "paired_euclidean_distances", "paired_manhattan_distances", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel",
)  # fmt: skip

# Calls that are refused, or warn that their results are not to be used, each with the reason.
REFUSED = {
    "matthews_corrcoef": "an array of NumPy beside an array",
    "silhouette_score": "for arrays of NumPy: reads x.flat",
    "GaussianMixture, full": "adds reg_covar to a part in place, and warns",
}


def transformed(estimator, A):
    fitted = clone(estimator).fit(A(X))
    found = fitted.transform(A(X))
    return [found, *([fitted.inverse_transform(found)] if hasattr(fitted, "inverse_transform") else [])]


def predicted(estimator, A, targets):
    fitted = clone(estimator).fit(A(X), A(targets))
    return [fitted.predict(A(X)), *([fitted.predict_proba(A(X))] if hasattr(fitted, "predict_proba") else [])]


def mixed(kind, A):
    model = mixture.GaussianMixture(2, covariance_type=kind, init_params="random", random_state=0, reg_covar=0.5).fit(
        A(X)
    )
    return [model.means_, model.covariances_, model.predict(A(X)), model.score_samples(A(X))]


CALLS = {name: lambda A, of=of: transformed(of, A) for name, of in TRANSFORMERS.items()}
CALLS |= {name: lambda A, of=of: predicted(of, A, LABELS) for name, of in CLASSIFIERS.items()}
CALLS |= {name: lambda A, of=of, y=y: predicted(of, A, y) for name, (of, y) in REGRESSORS.items()}
CALLS |= {
    f"GaussianMixture, {kind}": lambda A, kind=kind: mixed(kind, A) for kind in ("full", "tied", "diag", "spherical")
}
CALLS |= {name: lambda A, of=getattr(metrics, name): of(A(LABELS), A(OTHERS)) for name in OF_LABELS}
CALLS |= {name: lambda A, of=getattr(metrics, name): of(A(POSITIVE), A(BACKWARD)) for name in OF_NUMBERS}
CALLS |= {name: lambda A, of=getattr(metrics, name): of(A(LABELS), A(CHANCES[:, 1])) for name in OF_CHANCES}
CALLS |= {name: lambda A, of=getattr(metrics.pairwise, name): of(A(np.abs(X)), A(np.abs(X[::-1]))) for name in KERNELS}
CALLS |= {
    name: lambda A, of=getattr(metrics, name): of(A(X), A(LABELS))
    for name in ("silhouette_score", "calinski_harabasz_score", "davies_bouldin_score")
}
CALLS |= {
    "fbeta_score": lambda A: metrics.fbeta_score(A(LABELS), A(OTHERS), beta=0.5),
    "log_loss": lambda A: metrics.log_loss(A(LABELS), A(CHANCES)),
    "pairwise_distances": lambda A: metrics.pairwise_distances(A(X)),
    "pairwise_kernels": lambda A: metrics.pairwise_kernels(A(X), metric="rbf"),
    "train_test_split": lambda A: model_selection.train_test_split(A(X), A(LABELS), random_state=0),
    "cross_val_predict": lambda A: model_selection.cross_val_predict(
        linear_model.Ridge(solver="svd"), A(X), A(TARGETS), cv=3
    ),
    "GridSearchCV": lambda A: model_selection.GridSearchCV(
        linear_model.Ridge(solver="svd"), {"alpha": [0.1, 1.0]}, cv=3
    ).fit(A(X), A(TARGETS)).best_score_,
    "LabelEncoder": lambda A: preprocessing.LabelEncoder().fit_transform(A(LABELS)),
    "label_binarize": lambda A: preprocessing.label_binarize(A(LABELS), classes=[0, 1]),
    "scale": lambda A: preprocessing.scale(A(X)),
    "normalize": lambda A: preprocessing.normalize(A(X), norm="l1"),
    "make_pipeline": lambda A: pipeline.make_pipeline(
        preprocessing.StandardScaler(), decomposition.PCA(2, svd_solver="full"),
        discriminant_analysis.LinearDiscriminantAnalysis(),
    ).fit(A(X), A(LABELS)).predict(A(X)),
    "empirical_covariance": lambda A: covariance.empirical_covariance(A(X)),
    "shuffle": lambda A: utils.shuffle(A(X), random_state=0),
    "resample": lambda A: utils.resample(A(X), random_state=0),
}  # fmt: skip
