"""How wrong what was shown is, and how far probabilities can be believed."""

import numpy as np

BINS = 10
_LEAST = 1e-15


def errors_of(shown: np.ndarray, y: np.ndarray, *, regression: bool) -> list[float]:
    """Over all rows and over the second half: the share of mistakes, or squared error over the targets' variance. The
    first target of a regression nobody can predict. A row for which NaN is shown has no error.
    """
    each = ((shown - y) ** 2 / y.var())[1:] if regression else np.where(np.isnan(shown), np.nan, shown != y)
    return [float(each.mean()), float(each[len(each) // 2 :].mean())]


def log_loss(chances: np.ndarray, codes: np.ndarray) -> float:
    """The mean of -log of the probability (n, classes) that the class (n,) of each row had."""
    return float(-np.log(np.maximum(chances[np.arange(len(codes)), codes], _LEAST)).mean())


def shares_loss(codes: np.ndarray) -> float:
    """The log loss of someone who knows how frequent the classes are, and nothing else."""
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    return float(-(shares * np.log(shares)).sum())


def calibration_error(chances: np.ndarray, codes: np.ndarray, bins: int = BINS) -> float:
    """How far the probability of the likeliest class is from how often it came, on average over rows: rows with
    similar probabilities (`bins` equal intervals) are judged together.
    """
    said, came = chances.max(axis=1), chances.argmax(axis=1) == codes
    which = np.minimum((said * bins).astype(int), bins - 1)
    gaps = np.bincount(which, said - came, minlength=bins)
    return float(np.abs(gaps).sum() / len(codes))
