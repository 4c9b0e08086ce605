"""A model that keeps learning behind an address: ``kernelstream serve``.

Rows come in as JSON or Arrow, are durable before they are learned, and learned once, in the order of the log: after a
crash the model is bit for bit the one that a `Learner` gets of the same rows. ``docs/serving.md`` is the guide.
"""

from .server import serve
from .settings import Settings

__all__ = ["Settings", "serve"]
