"""The scikit-learn face: a classifier, a regressor, and transformers of the engine's parts."""

from .classifier import OnlineKernelClassifier
from .files import load_estimator
from .regressor import OnlineKernelRegressor
from .transformers import FourierFeatures, NystromFeatures, OnlineScaler, StructuredFeatures

__all__ = [
    "FourierFeatures",
    "NystromFeatures",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "OnlineScaler",
    "StructuredFeatures",
    "load_estimator",
]
