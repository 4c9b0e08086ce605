"""Which requests of the client go as JSON and which as Arrow: `python -m benchmarks.client_formats`, a table.

Round trips of `predict` to a service of its own, both ways in turns; the limit is `kernelstream.client.rows.FEW`.
"""

import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from kernelstream.client import Client, rows

SIZES = ((1, 20), (8, 20), (32, 20), (64, 20), (512, 20), (2048, 100))
WAYS = {"JSON": 10**9, "Arrow": 0}
TURNS = 40


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as store:
        command = [sys.executable, "-m", "kernelstream", "serve", "--store", store, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
            assert service.stdout is not None
            try:
                measure(service.stdout.readline().split(" at ")[1].strip())
            finally:
                service.terminate()


def measure(url: str) -> None:
    rng = np.random.default_rng(0)
    print("| rows | features | numbers | JSON, ms | Arrow, ms |\n| ---: | ---: | ---: | ---: | ---: |")
    with Client(url) as client:
        for n, width in SIZES:
            model = client.make(f"m{width}", task="regression", algorithm={"name": "fogd", "n_components": 50})
            X = rng.normal(size=(n, width))
            model.learn(X[:1], [0.0])
            took: dict[str, list[float]] = {way: [] for way in WAYS}
            for turn in range(TURNS + 2):
                for way, few in WAYS.items():
                    rows.FEW = few
                    began = time.perf_counter()
                    model.predict(X, fresh=turn == 0)
                    took[way].append(time.perf_counter() - began)
            times = [f"{1e3 * statistics.median(took[way][2:]):.1f}" for way in WAYS]
            print(f"| {n:,} | {width} | {n * width:,} | {' | '.join(times)} |", flush=True)


if __name__ == "__main__":
    main()
