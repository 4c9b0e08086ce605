"""Wheels with compiled code, for this Python and the Numba that it has: `make wheels`.

    python packaging/wheels.py [--out dist] [--levels x86-64-v4,x86-64-v3] [--keep DIRECTORY] [LEARNER ...]

A process for each level compiles as `kernelstream warm` does, told by Numba's own settings to compile for that level of
processors and for nothing that the host has beside it. Names of learners make a wheel with their code alone. What was
compiled stays in DIRECTORY, and is taken from there when nothing changed.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import llvmlite.binding as llvm

from kernelstream.numerics.cache import LEVELS, runs_on
from kernelstream.numerics.compile import SHELVES

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("learners", nargs="*", metavar="LEARNER")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--levels", default="x86-64-v4,x86-64-v3")
    parser.add_argument("--dtype", default="both")
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        sys.exit(f"code is compiled ahead for Linux on x86-64 alone; this is {sys.platform} on {platform.machine()}.")
    missing = [level for level in asked.levels.split(",") if not runs_on(level, llvm.get_host_cpu_features())]
    if missing:
        sys.exit(f"code is run while it is compiled, and this processor does not run {missing[0]}; see --levels.")
    with tempfile.TemporaryDirectory() as scratch:
        compiled, keep = Path(scratch) / "compiled", (asked.keep or Path(scratch)).absolute()
        for level in asked.levels.split(","):
            began = time.perf_counter()
            kept = compile_for(level, keep / level, [*asked.learners, "--dtype", asked.dtype])
            place = compiled / kept.name / level
            place.mkdir(parents=True)
            files = [Path(shutil.copy(file, place)) for file in kept.glob("*.code")]
            size = sum(file.stat().st_size for file in files) / 2**20
            print(f"{level}: {len(files)} functions, {size:.1f} MB, {time.perf_counter() - began:.0f} s", flush=True)
        wheel = built(compiled, asked.out)
    print(f"{wheel}: {wheel.stat().st_size / 2**20:.1f} MB")


def compile_for(level: str, cache: Path, arguments: list[str]) -> Path:
    """Have learners compiled for a level; the directory with their code, which is named by the sources' digest."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": LEVELS[level], "KERNELSTREAM_CACHE": str(cache)}
    environment |= {"NUMBA_DISABLE_INTEL_SVML": "1"}
    subprocess.run([sys.executable, "-m", "kernelstream", "warm", *arguments], env=environment, check=True)
    assert SHELVES.own is not None
    return cache / "kernelstream" / SHELVES.own.name


def built(compiled: Path, out: Path) -> Path:
    """The wheel with this code."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel", "--no-deps"]
        command += ["--no-build-isolation", "--wheel-dir", directory, str(ROOT)]
        subprocess.run(command, env={**os.environ, "KERNELSTREAM_COMPILED": str(compiled)}, check=True)
        (wheel,) = Path(directory).glob("*.whl")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, out))


if __name__ == "__main__":
    main()
