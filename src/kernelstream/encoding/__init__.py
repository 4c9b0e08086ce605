"""Named values to features: words, dates, missing values, for the tables of files and for rows of Python alike."""

from .columns import Columns
from .tables import is_table

__all__ = ["Columns", "is_table"]
