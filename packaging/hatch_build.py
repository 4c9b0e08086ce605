"""What makes a wheel one with compiled code: the directory that KERNELSTREAM_COMPILED names goes into it.

Such a wheel is for one minor version of Python, one of Numba, and one kind of processor; `wheels.py` makes it.
"""

import os
import sys
from importlib.metadata import version
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# As Numba's own wheels have it: the code calls nothing that they do not.
PLATFORM = "manylinux_2_27_x86_64.manylinux_2_28_x86_64"


class CompiledCode(BuildHookInterface[Any]):
    def initialize(self, kind: str, build_data: dict[str, Any]) -> None:
        directory = os.environ.get("KERNELSTREAM_COMPILED")
        if not directory or kind == "editable":
            return
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        minor = ".".join(version("numba").split(".")[:2])
        build_data["force_include"][directory] = "kernelstream/compiled"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{PLATFORM}"
        build_data["dependencies"].append(f"numba=={minor}.*")
