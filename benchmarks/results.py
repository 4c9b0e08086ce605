"""The results file: the records of each part, with the day, the machine and the versions that they were measured with.

Parts that were measured elsewhere than the others say where: ratios are of one run, and rows a second are not compared.
"""

import json
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import kernelstream

Record = dict[str, Any]


class Results:
    """What the file holds; `keep` replaces a part and writes the file."""

    def __init__(self, path: Path):
        self.path = path
        held = json.loads(path.read_text()) if path.exists() else {}
        self.machine: str = held.get("machine", machine())
        self.elsewhere: dict[str, str] = held.get("elsewhere", {})
        self.days: dict[str, str] = held.get("days", {})
        self.parts: dict[str, list[Record]] = held.get("parts", {})

    def keep(self, part: str, records: list[Record]) -> None:
        self.parts[part] = records
        self.days[part] = date.today().isoformat()
        self.elsewhere[part] = machine()
        where = [self.elsewhere.get(name, self.machine) for name in self.parts]
        self.machine = max(where, key=where.count)
        self.elsewhere = {n: m for n, m in zip(self.parts, where, strict=True) if m != self.machine}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        parts = ",\n".join(f"  {json.dumps(name)}: [\n{_lines(kept)}\n  ]" for name, kept in self.parts.items())
        head = f'"machine": {json.dumps(self.machine)},\n "elsewhere": {json.dumps(self.elsewhere)}'
        head += f',\n "days": {json.dumps(self.days)}'
        self.path.write_text(f'{{\n {head},\n "parts": {{\n{parts}\n }}\n}}\n')

    def records(self, part: str, **facts: Any) -> list[Record]:
        """The records of a part that have these facts."""
        return [r for r in self.parts.get(part, []) if all(r.get(k) == v for k, v in facts.items())]

    def one(self, part: str, **facts: Any) -> Record | None:
        found = self.records(part, **facts)
        return found[0] if found else None


def _lines(records: list[Record]) -> str:
    return ",\n".join(f"   {json.dumps(record)}" for record in records)


def machine() -> str:
    """Processor, system and versions."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        if names:
            cpu = f"{names[0]}, {len(names)} cores"
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba", "scikit-learn", "river"))
    python = f"Python {platform.python_version()}, kernelstream {kernelstream.__version__}"
    return f"{cpu}, {platform.system()}, {python}, {packages}, {_kernels()}"


def _kernels() -> str:
    """Which of its kernels OpenBLAS has chosen for the processor: OPENBLAS_CORETYPE overrules it."""
    import scipy.linalg  # noqa: F401 - NumPy's and SciPy's are loaded
    from threadpoolctl import threadpool_info

    chosen = dict.fromkeys(str(one.get("architecture")) for one in threadpool_info() if one["user_api"] == "blas")
    return f"OpenBLAS for {' and '.join(chosen)}"
