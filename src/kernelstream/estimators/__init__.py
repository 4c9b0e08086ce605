"""The scikit-learn face: a classifier, a regressor, a detector of outliers, components, clusters, and transformers of
the engine's parts.
"""

from .classifier import OnlineKernelClassifier
from .files import load_estimator
from .outlier import OnlineKernelOutlier
from .regressor import OnlineKernelRegressor
from .transformers import FourierFeatures, NystromFeatures, OnlineScaler, StructuredFeatures
from .unsupervised import OnlineKernelKMeans, OnlineKernelPCA

__all__ = [
    "FourierFeatures",
    "NystromFeatures",
    "OnlineKernelClassifier",
    "OnlineKernelKMeans",
    "OnlineKernelOutlier",
    "OnlineKernelPCA",
    "OnlineKernelRegressor",
    "OnlineScaler",
    "StructuredFeatures",
    "load_estimator",
]
