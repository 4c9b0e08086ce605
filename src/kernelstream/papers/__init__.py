"""The papers' tables and figures: one folder a paper, one TOML an item, one runner.

An item is data: published numbers, data sets, row orders, settings and where each of them comes from.
"""

from .items import Item, ItemError, find, names

__all__ = ["Item", "ItemError", "find", "names"]
