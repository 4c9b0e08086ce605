"""Lifts: maps of a row to the numbers that a linear model sees, as values with their state, record and scratch room."""

from .base import Lift, lift_rows
from .fourier import Fourier
from .identity import Identity
from .nystrom import Nystrom
from .structured import Structured

__all__ = ["Fourier", "Identity", "Lift", "Nystrom", "Structured", "lift_rows"]
