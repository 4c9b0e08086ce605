"""Model files that no run has written: refused by name before anything is made of them, or harmless."""

import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import kernelstream
from kernelstream import Binary, Learner, Multiclass, Regression, make
from kernelstream.engine.state import ModelFileError, NoModelFile
from kernelstream.kernels import Cauchy, Gaussian, Laplacian, Matern, Polynomial

ROWS = np.random.default_rng(0).normal(size=(40, 3))


@pytest.fixture
def saved(tmp_path):
    """Writes a model of an algorithm, with a header that is changed."""

    def write(name, change, task=None, labels=None):
        path = tmp_path / "model.ks"
        learner = Learner(name if not isinstance(name, str) else make(name, kernel=Gaussian(0.5)), task or Regression())
        learner.learn(ROWS, ROWS[:, 0] if labels is None else labels)
        learner.save(path)
        with zipfile.ZipFile(path) as archive:
            contents = {member: archive.read(member) for member in archive.namelist()}
        header = json.loads(contents["model.json"])
        change(header)
        contents["model.json"] = json.dumps(header).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for member, data in contents.items():
                archive.writestr(member, data)
        return path

    return write


@pytest.mark.parametrize(("names", "fewest"), [((), (3000, 1000)), (("auto",), (150, 150))], ids=["all", "auto"])
def test_no_number_of_a_file_makes_compiled_code_leave_its_arrays(names, fewest):
    script = Path(__file__).with_name("hostile.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, *names],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["refused"] > fewest[0] and counts["used"] > fewest[1], counts


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("seed", value) for value in (-1, 2**70, True)),
        *(("grow_features", value) for value in ("x", float("inf"))),
        ("grow_classes", 1),
        ("encoding", "x"),
        ("judged", -1),
        ("feature_names", "x"),
    ],
)
def test_a_value_of_the_header_that_nobody_writes_is_refused(saved, key, value):
    path = saved("rbp", lambda header: header.update({key: value}))
    for load in (Learner.load, kernelstream.load):
        with pytest.raises(ModelFileError, match=rf"model\.ks.*{key}"):
            load(path)


@pytest.mark.parametrize(
    ("array", "place", "value"),
    [
        ("ridge", (), 0.0),
        ("metrics.ridge", (), 0.0),
        ("metrics.widths", 0, 0.0),
        ("beside.todo", 0, 1),
        ("beside.todo", 1, 0),
        ("beside.progress", (), 1),
        ("parts.A", (0, 0), 0.0),
        ("scale", 1, 0.0),
        ("kept.weights", 3, -1.0),
        ("link", (0, 1), 0.0),
    ],
)
def test_what_auto_cannot_have_settled_is_refused(array, place, value):
    learner = Learner(make("auto", size="small"), Regression(), threads=1)
    learner.learn(ROWS, ROWS[:, 0])
    header, arrays = learner.to_parts()
    Learner.from_parts(header, arrays)
    changed = arrays[f"model.{array}"].copy()
    changed[place] = value
    with pytest.raises(ValueError):
        Learner.from_parts(header, {**arrays, f"model.{array}": changed})


@pytest.mark.parametrize("name", ["fogd", "nogd", "bsgd-m", "polk", "npbsgd", "rrf", "dualsgd", "ridge", "rbp", "avm"])
@pytest.mark.parametrize("part", ["width", "sizes"])
def test_sizes_of_a_header_are_compared_with_the_arrays_before_anything_is_made(saved, name, part):
    def change(header):
        if part == "width":
            header["width"] = 3_000_000
        for key in ("budget", "n_components", "batch_size") if part == "sizes" else ():
            if key in header["settled"]:
                header["settled"][key] = 3_000_000

    path = saved(name, change)
    if part == "sizes" and name == "avm":
        Learner.load(path)  # it has none
        return
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=r"model\.ks"):
            Learner.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20e6, f"{peak / 1e6:.0f} MB were asked for"


def test_the_length_of_class_names_is_that_of_the_names(saved):
    labels = np.array(["no", "yes"])[(ROWS[:, 0] > 0).astype(int)]
    path = saved("rbp", lambda header: header["task"].update(dtype="<U100000000"), Binary(["no", "yes"]), labels)
    tracemalloc.start()
    try:
        assert Learner.load(path).predict(ROWS[:1])[0] in ("no", "yes")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Cauchy, Matern, Polynomial])
@pytest.mark.parametrize("name", ["bogd++", "fogd", "projectron", "rbp"])
@pytest.mark.parametrize("gamma", [1e39, 1e300, np.inf])
def test_a_kernel_that_overflows_in_the_models_precision_is_refused(kernel, name, gamma):
    if name == "fogd" and not kernel.shift_invariant:
        pytest.skip("has no frequencies")
    with pytest.raises(ValueError, match=r"not finite in float32"):
        Learner(make(name, kernel=kernel(gamma=gamma)), Binary([0, 1]))
    if gamma < np.inf and name != "fogd":
        Learner(make(name, kernel=kernel(gamma=gamma)), Binary([0, 1]), dtype="float64")


@pytest.mark.parametrize("gamma", [1e39, 1e300, "inf"])
def test_a_file_with_such_a_kernel_is_refused(saved, gamma):
    def change(header):
        for spec in ("settled", "algorithm"):
            header[spec]["kernel"]["gamma"] = gamma

    path = saved("bogd++", change)
    with pytest.raises(ModelFileError, match=r"model\.ks.*not finite in float32"):
        Learner.load(path)


def nested(depth, kind, kernel):
    for _ in range(depth):
        kernel = {"type": kind, "parts": [kernel, {"type": "Linear"}]}
    return kernel


@pytest.mark.parametrize(
    "kernel",
    [
        {"type": "Sum"},
        {"type": "Sum", "parts": []},
        {"type": "Sum", "parts": 3},
        {"type": "Sum", "parts": [{"type": "Linear"}, 3]},
        {"type": "Sum", "parts": [{"type": "Linear"}, {"type": "Hinge"}]},
        {"type": "Multiple", "multiplier": 1e39, "kernel": {"type": "Linear"}},
        {"type": "Multiple", "multiplier": "inf", "kernel": {"type": "Linear"}},
        {"type": "Multiple", "multiplier": -1.0, "kernel": {"type": "Linear"}},
        {"type": "Multiple", "multiplier": 1.0},
        {"type": "_Composite"},
        nested(8, "Sum", {"type": "Linear"}),
        nested(300, "Product", {"type": "Linear"}),
    ],
    ids=lambda kernel: str(kernel)[:60],
)
def test_a_file_with_a_sum_or_product_that_cannot_be_is_refused(saved, kernel):
    def change(header):
        header["settled"]["kernel"] = header["algorithm"]["kernel"] = kernel

    with pytest.raises(ModelFileError, match=r"model\.ks"):
        Learner.load(saved("rbp", change))


def test_a_width_that_is_settled_on_tiny_features_is_finite():
    learner = Learner("bogd++", Binary([0, 1]))
    learner.learn(1e-25 * ROWS, (ROWS[:, 0] > 0).astype(int))
    assert np.isfinite(learner.scores(1e-25 * ROWS)).all()


@pytest.mark.parametrize("weight", [1e-60, 1e-30, 1.0])
def test_terms_that_underflow_to_nothing_are_merged_like_others(weight):
    learner = Learner(make("bsgd-m", kernel=Gaussian(0.5), budget=3), Binary([0, 1]))
    learner.learn(ROWS, (ROWS[:, 0] > 0).astype(int), np.where(np.arange(40) % 2 == 0, weight, 1.0))
    assert np.isfinite(learner.scores(ROWS)).all()


def test_only_model_file_errors_come_out_of_loading(tmp_path):
    """Bytes of the zip changed at random, beside its checksums: whatever the reader meets, it names the file."""
    path = tmp_path / "model.ks"
    learner = Learner(make("rbp", kernel=Gaussian(0.5), budget=3), Multiclass([0, 1, 2]))
    learner.learn(ROWS, np.arange(40) % 3)
    learner.save(path)
    whole, generator = path.read_bytes(), np.random.default_rng(1)
    directory = whole.rindex(b"PK\x01\x02", 0, whole.rindex(b"PK\x05\x06"))
    for _ in range(1500):
        raw = bytearray(whole)
        start = 0 if generator.random() < 0.5 else directory
        for place in generator.integers(start, len(raw), generator.integers(1, 6)):
            raw[place] = generator.integers(256)
        path.write_bytes(bytes(raw))
        try:
            back = Learner.load(path)
        except ModelFileError as refusal:
            assert "model.ks" in str(refusal)
        else:
            assert np.array_equal(back.scores(ROWS), learner.scores(ROWS))


def test_what_is_no_file_is_refused_by_name(tmp_path):
    with pytest.raises(ModelFileError, match=tmp_path.name):
        Learner.load(tmp_path)
    with pytest.raises(NoModelFile, match=r"none\.ks"):
        Learner.load(tmp_path / "none.ks")
