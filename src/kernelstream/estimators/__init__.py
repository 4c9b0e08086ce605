"""The scikit-learn face: a classifier, a regressor, a detector of outliers, and transformers of the engine's parts."""

from .classifier import OnlineKernelClassifier
from .files import load_estimator
from .outlier import OnlineKernelOutlier
from .regressor import OnlineKernelRegressor
from .transformers import FourierFeatures, NystromFeatures, OnlineScaler, StructuredFeatures

__all__ = [
    "FourierFeatures",
    "NystromFeatures",
    "OnlineKernelClassifier",
    "OnlineKernelOutlier",
    "OnlineKernelRegressor",
    "OnlineScaler",
    "StructuredFeatures",
    "load_estimator",
]
