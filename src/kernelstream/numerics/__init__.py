"""Arithmetic: what compiled code is made of, from exp to budgets; nothing here knows a learner."""

import importlib.util
import sys

import numpy as np


def _load_when_asked(*names: str) -> None:
    """Let parts of NumPy be there at once, and be loaded when something of them is asked for.

    SciPy takes all names of NumPy, and so its tests and its wrapper of Fortran: most of the time to import it.
    """
    for name in names:
        whole = f"{np.__name__}.{name}"
        spec = importlib.util.find_spec(whole) if whole not in sys.modules else None
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
            module = importlib.util.module_from_spec(spec)
            sys.modules[whole] = module
            spec.loader.exec_module(module)
            setattr(np, name, module)


_load_when_asked("f2py", "testing")
