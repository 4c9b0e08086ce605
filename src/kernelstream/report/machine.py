"""The machine that figures come from, in words."""

import platform
from pathlib import Path

from ..engine.cores import available


def machine() -> str:
    """Processor, cores that may be used, and system."""
    cores = available()
    system = f"{platform.system()} {platform.machine()}"
    return f"{_processor()}, {cores} core{'s' if cores > 1 else ''}, {system}"


def _processor() -> str:
    """Its name; Linux knows it, others say as much as they do."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next((name for name in named if name), platform.processor() or "an unnamed processor")
