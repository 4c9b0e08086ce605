"""Lifts: maps of a row to the numbers that a linear model sees, as values with their state, record and scratch room."""

from .base import Lift, descend_lifted, evaluate_lifted, lift_rows, lift_scaled
from .binning import Binning
from .fourier import Fourier, Quasi
from .identity import Identity
from .nystrom import Nystrom
from .structured import Structured

__all__ = [
    "Binning",
    "Fourier",
    "Identity",
    "Lift",
    "Nystrom",
    "Quasi",
    "Structured",
    "descend_lifted",
    "evaluate_lifted",
    "lift_rows",
    "lift_scaled",
]
