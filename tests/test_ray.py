"""Training on Ray, with real processes and nodes: what is killed comes back, and every row counts once."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from kernelstream import Binary, Learner, Multiclass, make
from kernelstream.distributed import Checkpoints, train
from kernelstream.evaluate.experiments import Repetition, repeated
from kernelstream.kernels import Gaussian
from kernelstream.sources import ArraySource, open_source
from kernelstream.sources.survey import survey

ray = pytest.importorskip("ray", reason="pip install 'kernelstream[ray]' brings it")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

# Ray warns of what its own parts still use.
pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

N = 24_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4)).astype(np.float32)
Y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, 0.0)


# After how many milliseconds a node is asked whether it is alive, and after how many tries it is not.
SOON = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 4}


def ridge():
    spec = make("ridge", kernel=Gaussian(0.5), n_components=32, solve="exact")
    return Learner(spec, Binary([0.0, 1.0]), threads=1)


def table(X=X, y=Y):
    return pa.table({**{f"x{i}": X[:, i] for i in range(X.shape[1])}, "y": y})


def assert_is_the_model_of_all(model):
    one = ridge()
    one.learn(X, Y)
    assert model.n_seen == N
    np.testing.assert_allclose(model.scores(X[:500]), one.scores(X[:500]), atol=5e-4)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("parts")
    for i, some in enumerate(np.array_split(np.arange(N), 3)):
        pq.write_table(table(X[some], Y[some]), directory / f"part-{i}.parquet", row_group_size=1000)
    return directory


@pytest.fixture(scope="module")
def local():
    ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_two_workers_learn_the_model_of_one(local, files):
    for _ in range(4):  # on a busy machine one worker may take all rows before the other has begun
        result = train(f"{files}/part-*.parquet", ridge(), workers=2, every=1500)
        assert_is_the_model_of_all(result.model)
        assert result.trace.last.rows == N and 0.0 < result.trace.last.metrics["mistake_rate"] < 0.3
        if all(record.rows > 0 for record in result.workers):
            break
    assert [record.rows > 0 for record in result.workers] == [True, True]
    assert len({record.place for record in result.workers}) == 2
    assert result.bytes > 0 and len(result.synchronisations) > 3


def test_workers_that_are_killed_at_any_moment_come_back_and_every_row_counts_once(local, files):
    chance, at_work, over, kills = random.Random(0), [], threading.Event(), []

    def kill():
        while not over.wait(chance.uniform(0.02, 0.3)):
            lost = sum(record.lost for record in at_work[-1].workers) if at_work else 0
            places = [record.place for record in at_work[-1].workers] if at_work and lost < 3 else []
            found = re.search(r"process (\d+)", chance.choice(places)) if places else None
            if found and int(found[1]) not in kills:
                kills.append(int(found[1]))
                os.kill(kills[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        result = train(
            f"{files}/part-*.parquet", ridge(), workers=2, every=400, on_round=lambda one: at_work.append(one.result)
        )
    finally:
        over.set()
        killer.join()
    assert len(kills) >= 2 and sum(record.lost for record in result.workers) >= 1
    assert result.trace.last.rows == sum(record.rows for record in result.workers) == N
    assert_is_the_model_of_all(result.model)


def test_a_dataset_of_rays_is_read_by_its_blocks(local):
    dataset = ray.data.from_arrow([table(X[some], Y[some]) for some in np.array_split(np.arange(N), 6)])
    result = train(dataset, ridge(), workers=2, every=2000, label="y")
    assert_is_the_model_of_all(result.model)
    with pytest.raises(ValueError, match="which column of x0, x1"):
        train(dataset, ridge(), workers=2)


def test_a_text_file_is_read_by_its_lines_and_words_are_known_to_all(local, tmp_path):
    words = np.array(["red", "green", "blue"])[np.arange(6000) % 3]
    rows = (f"{a:.4f},{word},{int(y)}" for a, word, y in zip(X[:6000, 0], words, Y[:6000], strict=True))
    path = tmp_path / "words.csv"
    path.write_text("\n".join(["x,colour,y", *rows]) + "\n")
    source = open_source(path, categorical="onehot")
    spec = make("ridge", kernel=Gaussian(0.5), n_components=32, solve="exact")
    result = train(source, Learner(spec, Binary([0.0, 1.0]), grow_features=True), workers=2, every=500)
    assert result.model.n_seen == 6000 and result.model.width == 4
    assert result.source.feature_names == ["x", "colour=red", "colour=green", "colour=blue"]
    one = Learner(spec, Binary([0.0, 1.0]), grow_features=True)
    for block in open_source(path, categorical="onehot"):
        one.learn(*block)
    for rows, _ in open_source(path, categorical="onehot"):
        np.testing.assert_allclose(result.model.scores(rows), one.scores(rows), atol=5e-3)


def test_classes_that_only_some_workers_meet_are_known_to_all(local):
    y = np.where(np.arange(6000) < 5000, np.where(X[:6000, 0] > 0, "a", "b"), "c")
    learner = Learner(make("fogd", kernel=Gaussian(0.5), n_components=32), Multiclass(["a", "b"]), grow_classes=True)
    result = train(ArraySource(X[:6000], y), learner, workers=2, every=300)
    assert sorted(result.model.task.classes) == ["a", "b", "c"] and result.model.n_seen == 6000


def test_an_error_in_a_file_ends_it_by_name(local, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("x,y\n" + "1,0\n2,1\n" * 3000 + "oops,1\n")
    with pytest.raises(ValueError, match=r"bad\.csv.*oops"):
        train(path, Learner(make("fogd", kernel=Gaussian(0.5), n_components=32), Binary([0.0, 1.0])), workers=2)


def test_what_cannot_be_merged_is_refused_before_anything_is_learned(local, files):
    learner = Learner(make("rrf", kernel=Gaussian(0.5), n_components=32), Binary([0.0, 1.0]))
    with pytest.raises(ValueError, match="rrf cannot learn on several workers"):
        train(f"{files}/part-*.parquet", learner, workers=2)
    with pytest.raises(ValueError, match="workers=9, and the Ray cluster has 3 cores"):
        train(f"{files}/part-*.parquet", ridge(), workers=9)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"every": 1.5}, "every=1.5 must be a whole number"),
        ({"every": 0}, "every=0 must be"),
        ({"workers": 0}, "workers=0 must be"),
        ({"workers": -1}, "workers=-1 must be"),
        ({"workers": 1.5}, "workers=1.5 must be"),
        ({"apart": -1.0}, "apart=-1.0 must be above 0"),
        ({"learner": "nope"}, "'nope' is not known"),
        ({"source": "nowhere.csv"}, "no file 'nowhere.csv'"),
        ({"source": 3}, "source is int"),
        ({"address": "127.0.0.1:1"}, "Ray at '127.0.0.1:1' cannot be reached"),
    ],
)
def test_what_cannot_be_is_said_before_ray_starts(wrong, said, monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda *address, **options: pytest.fail("Ray was started"))
    asked = {"source": (X, Y), "learner": ridge()} | wrong
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(said)):
        train(**asked)


def test_arrays_are_learned(local):
    assert_is_the_model_of_all(train((X, Y), ridge(), workers=2, every=2000).model)


def test_what_was_kept_is_gone_on_from(local, files, tmp_path):
    class Enough(Exception):
        pass

    def stop(coordinator):
        if coordinator.ledger.rows > N / 2:
            raise Enough

    kept = tmp_path / "kept.ks"
    with pytest.raises(Enough):
        train(f"{files}/part-*.parquet", ridge(), workers=2, every=1000, checkpoints=Checkpoints(kept), on_round=stop)
    half = Learner.load(kept).n_seen
    assert N / 2 < half < N
    result = train(f"{files}/part-*.parquet", ridge(), workers=2, every=1000, checkpoints=Checkpoints(kept, True))
    assert result.trace.last.rows == N
    assert_is_the_model_of_all(result.model)
    with pytest.raises(ValueError, match="other files, or other pieces"):
        train(f"{files}/part-0.parquet", ridge(), workers=2, checkpoints=Checkpoints(kept, True))


def test_repetitions_run_over_the_cluster_with_the_same_results(local):
    import joblib
    from ray.util.joblib import register_ray

    source = ArraySource(X[:2000], Y[:2000])
    each = [Repetition(make("fogd", kernel=Gaussian(0.5), n_components=32), source, survey(source))]
    here = repeated(each, range(3), jobs=1)
    register_ray()
    with joblib.parallel_config(backend="ray", n_jobs=2):
        there = repeated(each, range(3), jobs=2)
    assert [t.last.metrics for t in here[0]] == [t.last.metrics for t in there[0]]


def command(*arguments):
    return [sys.executable, "-m", "kernelstream", *map(str, arguments)]


def test_a_command_that_is_killed_is_resumed(files, tmp_path):
    kept, out = tmp_path / "kept.ks", tmp_path / "out.json"
    asked = ["run", f"{files}/part-*.parquet", "--algorithm", "fogd", "--workers", 2, "--every", 400]
    asked += ["--set", "n_components=32", "--set", "kernel.gamma=0.5", "--checkpoint", kept, "--json", out]
    asked += ["--report", tmp_path / "page.html"]
    begun = subprocess.Popen(
        command(*asked), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not kept.exists() and begun.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()
    assert kept.exists()
    done = subprocess.run(command(*asked, "--resume"), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    written = json.loads(out.read_text())
    assert written["rows"] == N and len(written["workers"]) == 2 and written["synchronisations"]
    assert "rows a worker" in done.stdout
    assert "rows/s a worker" in (tmp_path / "page.html").read_text()
    assert Learner.load(kept).n_seen == N


@pytest.mark.parametrize("wrong", [["--shuffle"], ["--delay", 5], ["--runs", 3], ["--scale", "standard"]])
def test_options_that_need_all_rows_in_one_place_are_refused(wrong, files):
    done = subprocess.run(command("run", files, "--workers", 2, *wrong), capture_output=True, text=True)
    assert done.returncode == 2 and "in one place" in done.stderr and "Traceback" not in done.stderr


def test_a_comparison_without_repetitions_says_that_a_cluster_has_nothing_to_do(files):
    asked = command("compare", files, "--algorithms", "rbp,fogd", "--ray", "127.0.0.1:1")
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 2 and "--runs N" in done.stderr


def test_a_page_of_several_workers_has_what_looks_at_no_row_and_a_table_nothing_unmeasured(files, tmp_path):
    page = tmp_path / "page.html"
    asked = command("run", files, "--workers", "2", "--algorithm", "fogd", "--report", page)
    done = subprocess.run(asked, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "majority so far" in page.read_text()
    assert "compiling" not in done.stdout and "reading" not in done.stdout


def test_a_node_that_is_lost_takes_no_row_with_it(files):
    from ray.cluster_utils import Cluster

    if ray.is_initialized():
        ray.shutdown()
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": SOON}
    )
    other = cluster.add_node(num_cpus=1)
    gone = []
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        cluster.wait_for_nodes()

        def lose(coordinator):
            if not gone and coordinator.ledger.rows > N / 3:
                cluster.remove_node(other, allow_graceful=False)
                gone.append(coordinator.ledger.rows)

        result = train(f"{files}/part-*.parquet", ridge(), workers=2, every=1000, on_round=lose)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert gone and result.trace.last.rows == N
    assert_is_the_model_of_all(result.model)
