"""Laws of the command line: what it prints, writes and refuses, on real files through the real entry."""

import bz2
import gzip
import json
import lzma
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_diabetes, load_digits
from typer.testing import CliRunner

from kernelstream import ALGORITHMS, FOGD, Learner, Multiclass, __version__
from kernelstream.algorithms import PURPOSES
from kernelstream.cli import app, command
from kernelstream.cli.demo import LEARNERS
from kernelstream.evaluate.run import prequential
from kernelstream.evaluate.settings import FAMILIES, flat, spec_from
from kernelstream.kernels import Gaussian, Laplacian, Linear, Polynomial
from kernelstream.losses import Huber
from kernelstream.schedules import InverseSqrt
from kernelstream.sources import Shuffled, fit_scaling, open_source

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "COLUMNS": "100"}
COMPRESSED = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress, ".bz2": bz2.compress}
SECONDS = ("seconds", "reading_seconds", "compiling_seconds", "looking_ahead_seconds", "rows_per_second")


def with_fogd(arguments):
    """`run` with FOGD, whose parameters are set here, unless another one is named."""
    if arguments[:1] != ("run",) or "--algorithm" in arguments or "--config" in arguments:
        return arguments
    return "run", "--algorithm", "fogd", *arguments[1:]


def call(*arguments):
    """The command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in with_fogd(arguments)], env={"COLUMNS": "100"})


def process(*arguments):
    """The command in a process of its own."""
    command = [sys.executable, "-m", "kernelstream", *map(str, with_fogd(arguments))]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)


def result(*arguments):
    answer = call("run", *arguments, "--json", "-")
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def timeless(record):
    record = {name: value for name, value in record.items() if name not in SECONDS}
    record["checkpoints"] = [{k: v for k, v in c.items() if k not in SECONDS} for c in record["checkpoints"]]
    return record


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Breast cancer in every format, by suffix."""
    folder = tmp_path_factory.mktemp("formats")
    X, y = load_breast_cancer(return_X_y=True)
    dump_svmlight_file(X, y, str(folder / "data.libsvm"), zero_based=False)
    names = [f"f{j}" for j in range(X.shape[1])]
    header = ",".join([*names[:2], "kind", *names[2:]])
    np.savetxt(folder / "data.csv", np.insert(X, 2, y, axis=1), delimiter=",", header=header, comments="", fmt="%.17g")
    np.savez_compressed(folder / "data.npz", X=X, y=y)
    for name in ("data.libsvm", "data.csv"):
        for suffix, compress in COMPRESSED.items():
            (folder / f"{name}{suffix}").write_bytes(compress((folder / name).read_bytes()))
    return folder


# Results.


def test_the_command_of_the_readme(files, tmp_path):
    settings = ("--set", "kernel.sigma=8", "--set", "n_components=400", "--set", "learning_rate=0.002")
    data = files / "data.libsvm.xz"
    output = tmp_path / "result.json"
    done = process("run", data, "--algorithm", "fogd", *settings, "--json", output)
    assert done.returncode == 0, done.stderr
    assert "task: binary (2 different labels in all 569 rows: 0, 1)" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    for word in ("fogd on data", "binary", "569", "mistake rate", "rows/s", "kernel.gamma=0.0078125"):
        assert word in done.stdout
    record = json.loads(output.read_text())
    assert (record["rows"], record["task"], record["seed"], record["size"]) == (569, "binary", 0, 800)
    assert spec_from(record["algorithm"], [f"{k}={v}" for k, v in record["parameters"].items()]) == FOGD(
        kernel=Gaussian(sigma=8), loss="hinge", learning_rate=0.002, n_components=400
    )
    assert 0 < record["mistake_rate"] < 1
    assert set(SECONDS) <= set(record)
    assert record["bytes"] > 0
    assert not record["interrupted"]


@pytest.mark.parametrize("suffix", [*(f".libsvm{c}" for c in COMPRESSED), *(f".csv{c}" for c in COMPRESSED), ".npz"])
def test_every_format_gives_the_same_result(files, suffix):
    label = ("--label", "kind") if "csv" in suffix else ()
    record = result(files / f"data{suffix}", *label, "--scale", "standard", "--dtype", "float64")
    expected = result("breast-cancer", "--scale", "standard", "--dtype", "float64")
    assert record["rows"] == 569
    assert record["mistake_rate"] == expected["mistake_rate"]


def test_a_label_may_be_a_position(files):
    by_name = result(files / "data.csv", "--label", "kind", "--scale", "minmax")
    assert timeless(by_name) == timeless(result(files / "data.csv", "--label", "2", "--scale", "minmax"))
    assert by_name["mistake_rate"] < 0.2


def test_a_run_is_what_the_library_gives():
    record = result("digits", "--shuffle", "--seed", "5", "--scale", "standard", "--set", "n_components=50")
    source = open_source("digits")
    scaling = fit_scaling(source, "standard")
    learner = Learner(FOGD(n_components=50), Multiclass(np.arange(10.0)), seed=5, scaling=scaling)
    trace = prequential(learner, Shuffled(source, 5))
    assert record["mistake_rate"] == trace.last.metrics["mistake_rate"]
    assert record["parameters"] == trace.parameters


def test_results_depend_on_the_seed_and_on_nothing_else():
    arguments = ("digits", "--shuffle", "--scale", "standard")
    first, again, other = (result(*arguments, "--seed", seed) for seed in (1, 1, 2))
    assert timeless(first) == timeless(again)
    assert first["mistake_rate"] != other["mistake_rate"]
    assert timeless(result("digits", "--shuffle")) == timeless(result("digits", "--shuffle", "--block-rows", "100"))


def test_regression_is_judged_by_mse_and_rmse():
    record = result("diabetes", "--scale", "standard")
    assert record["task"] == "regression"
    assert record["rmse"] == pytest.approx(record["mse"] ** 0.5)
    assert "mistake_rate" not in record
    assert record["rmse"] < load_diabetes().target.max()


def test_a_task_can_be_asked_for(files):
    assert result("breast-cancer", "--task", "multiclass")["task"] == "multiclass"
    assert result("breast-cancer", "--task", "regression")["task"] == "regression"
    assert "task:" not in call("run", "breast-cancer", "--task", "binary").stderr


def test_json_on_stdout_stands_alone():
    done = process("run", "breast-cancer", "--json", "-")
    assert json.loads(done.stdout)["rows"] == 569
    assert "mistake rate" in done.stderr


def test_words_as_labels_and_brackets_in_names(tmp_path):
    X, y = load_digits(return_X_y=True)
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])[y]
    file = tmp_path / "di[red]gits.csv"
    file.write_text("".join(",".join(map(str, row)) + f",{name}\n" for row, name in zip(X, names, strict=True)))
    answer = call("run", file, "--json", tmp_path / "r.json")
    assert answer.exit_code == 0, answer.output
    assert "di[red]gits" in answer.stdout
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["task"] == "multiclass"
    assert record["mistake_rate"] < 0.15


@pytest.mark.parametrize("metrics", ["mistake_rate", "hinge_loss", "auc,mistake_rate"])
def test_the_result_says_where_a_class_came_that_nobody_had_announced(tmp_path, metrics):
    file, record = tmp_path / "late.csv", tmp_path / "r.json"
    labels = ["no", "yes"] * 2500 + ["no", "maybe"] * 50  # the first 4,096 rows have two
    file.write_text("x,label\n" + "".join(f"{len(label) + t % 7},{label}\n" for t, label in enumerate(labels)))
    options = ("--algorithm", "rbp", "--metrics", metrics, "--json", record, "--save", tmp_path / "m.ks")
    answer = call("run", file, *options, "--set", "kernel.gamma=0.5")
    assert answer.exit_code == 0, answer.output
    written = json.loads(record.read_text())
    assert (written["task"], written["classes"]) == ("multiclass", ["no", "yes", "maybe"])
    assert written["newcomers"] == [{"row": 5002, "label": "maybe"}]
    said = " ".join(answer.stdout.split())
    assert "classes 3, 'maybe' came at row 5,002" + (", where AUC ended" if "auc" in metrics else "") in said
    assert Learner.load(tmp_path / "m.ks").task.name == "multiclass"


def test_features_may_appear_late(tmp_path):
    file = tmp_path / "late.libsvm"
    file.write_text("1 1:1\n-1 1:-1\n" * 50 + "1 1:1 900:2\n-1 1:-1 7:1\n" * 50)
    assert result(file, "--block-rows", "30", "--set", "kernel.gamma=0.5")["rows"] == 200


def test_a_saved_model_predicts_the_same_and_applies_the_scaling(tmp_path):
    model = tmp_path / "digits.ks"
    answer = call("run", "digits", "--scale", "standard", "--set", "n_components=60", "--save", model)
    assert answer.exit_code == 0, answer.output
    assert str(model.name) in answer.stdout.replace("\n", "").replace(" ", "")
    X, y = load_digits(return_X_y=True)
    learner = Learner(
        FOGD(n_components=60), Multiclass(np.arange(10.0)), scaling=fit_scaling(open_source("digits"), "standard")
    )
    prequential(learner, open_source("digits"))
    loaded = Learner.load(model)
    assert loaded.inputs.features.kind == "standard"
    assert np.array_equal(loaded.scores(X), learner.scores(X))
    assert np.mean(loaded.predict(X) == y) > 0.9


# Settings.


def test_settings_make_specs():
    settings = ["kernel.gamma=0.1", "loss.delta=0.3", "kernel=laplacian", "loss=huber", "normalize=False"]
    spec = spec_from("fogd", settings)
    assert spec == FOGD(kernel=Laplacian(gamma=0.1), loss=Huber(delta=0.3), normalize=False)
    spec = spec_from("nogd", ["learning_rate.rate=0.5", "learning_rate=inverse-sqrt", "rank=none", "kernel=polynomial"])
    assert (spec.learning_rate, spec.rank, spec.kernel) == (InverseSqrt(0.5), None, Polynomial())
    assert spec_from("fogd", ["loss=logistic", "learning_rate=1e-3"]) == FOGD(loss="logistic", learning_rate=0.001)
    assert spec_from("fogd", ["kernel.sigma=8"]).kernel == Gaussian(sigma=8)
    assert spec_from("fogd", []) == FOGD()
    spec = spec_from("ogd", ["kernel=(gaussian + 0.5*linear) * polynomial", "kernel.parts.0.parts.0.gamma=0.1"])
    assert spec.kernel == (Gaussian(gamma=0.1) + 0.5 * Linear()) * Polynomial()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_flat_settings_make_the_same_spec_again(name):
    for kernel in (*FAMILIES["kernel"], "gaussian+linear", "0.5*matern+0.5*cauchy", "3*(linear+sigmoid)*gaussian"):
        try:
            spec = spec_from(name, [f"kernel={kernel}"])
        except ValueError as refusal:
            assert re.search(re.split(r"\W+", kernel)[-1], str(refusal), re.IGNORECASE)  # a kernel that it cannot take
            continue
        assert spec_from(name, [f"{key}={value}" for key, value in flat(spec).items()]) == spec


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("width=3", "fogd has no parameter 'width'; it has kernel, loss, learning_rate"),
        ("kernel.width=3", "gaussian has no parameter 'width'; it has gamma, sigma"),
        ("kernel=rbf", "kernel='rbf' is not known; choose one of gaussian, laplacian"),
        ("kernel=3", "kernel=3 is not known"),
        ("kernel=rbf+linear", "kernel='rbf' is not known; choose one of gaussian, laplacian"),
        ("kernel=gaussian+", "kernel='gaussian+' is no kernel; a sum or product is written as in gaussian+0.5*linear"),
        ("kernel=gaussian+1", "kernel='gaussian+1' is no kernel"),
        ("kernel=__import__('os')*linear", "is no kernel; a sum or product is written as"),
        ("kernel=0*gaussian", "multiplier=0 must be a number greater than 0"),
        ("kernel=linear", "Linear has no spectral sampler"),
        ("kernel.gamma=-1", "gamma=-1 must be a number greater than 0"),
        ("loss=zero-one", "loss='zero-one' is not known; choose one of perceptron, hinge"),
        ("loss=squared", "Squared is not a loss for multiclass; choose one of perceptron, hinge"),
        ("loss.tau=1", "no parameter 'tau'; choose one first, loss=perceptron"),
        ("learning_rate=fast", "learning_rate='fast' is not known; choose a number or one of constant"),
        ("learning_rate.rate=1", "has no parameter 'rate'; choose one first, learning_rate=constant"),
        ("n_components=many", "n_components='many' must be a whole number"),
        ("n_components.x=1", "n_components=1600 has no parameter 'x'"),
        ("n_components", "'n_components' is not name=value"),
        ("=3", "'=3' is not name=value"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, message):
    answer = call("run", "digits", "--set", setting)
    assert_refused(answer, message)


def test_settings_that_contradict_are_refused():
    for one, other, message in (
        ("n_components=3", "n_components=4", "n_components is set twice"),
        ("kernel.gamma=3", "kernel.sigma=4", "gamma or sigma, not both"),
    ):
        assert_refused(call("run", "digits", "--set", one, "--set", other), message)


# Refusals.


def assert_refused(answer, message):
    assert answer.exit_code == 2, answer.output
    assert isinstance(answer.exception, SystemExit)
    lines = [line for line in answer.stderr.splitlines() if not line.startswith("task:")]
    assert len(lines) == 1, answer.stderr
    assert lines[0].startswith("kernelstream: ")
    assert message in lines[0]
    assert answer.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.libsvm",), "there is no file 'nowhere.libsvm', and the built-in names are digits, breast-cancer"),
        (("digits", "--algorithm", "magic"), "algorithm 'magic' is not known; choose one of auto"),
        (("digits", "--task", "ranking"), "--task ranking must be one of auto, binary, multiclass, regression"),
        (("digits", "--task", "binary"), "set the task to multiclass"),
        (("digits", "--scale", "log"), "--scale log must be one of none, minmax, standard"),
        (("digits", "--dtype", "float16"), "--dtype float16 must be one of float32, float64"),
        (("digits", "--save", "no/such/place/m.ks"), "there is no directory 'no/such/place' to write 'm.ks' into"),
        (("digits", "--json", "."), "'.' is a directory"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(arguments, message):
    assert_refused(call("run", *arguments), message)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.libsvm", b"", "has no rows"),
        ("broken.libsvm", b"1 1:2\n1 what\n", "line 2, column 3"),
        ("data.parquet", b"?", "damaged or of another format"),
        ("data.doc", b"?", "no known suffix"),
        ("one.libsvm", b"1 1:2\n1 1:3\n", "all 2 labels are 1"),
        ("nan.csv", b"1,nan\n3,nan\n", "none of 2 rows has a label, which is '#2'; name another column"),
        ("inf.libsvm", b"1.5 1:inf\n", "line 1, column 7: the value 'inf' is not finite"),
        ("damaged.libsvm.xz", lzma.compress(b"1 1:2\n" * 9999)[:60], "damaged"),
        ("not.npz", b"PK nothing", "damaged"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    assert_refused(call("run", tmp_path / name), message)


def test_refusals_show_no_traceback_in_a_process():
    done = process("run", "nowhere.libsvm")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert process("run").returncode == 2
    assert process("run", "digits", "--seed", "-1").returncode == 2


# Interruption.


def until(terminal, word):
    """What a terminal shows, up to the chunk that has a word in it."""
    shown = b""
    while word not in shown:
        shown += os.read(terminal, 4096)
    return shown.decode()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for another process and no pseudo-terminal")
def test_an_interrupted_run_shows_what_it_has(tmp_path):
    X = np.random.default_rng(0).normal(size=(200_000, 5))
    np.savez(tmp_path / "long.npz", X=X, y=np.sign(X[:, 0]))
    arguments = ("run", tmp_path / "long.npz", "--block-rows", 2, "--json", "-", "--save", tmp_path / "m.ks")
    arguments += ("--set", "n_components=400")
    command = [sys.executable, "-m", "kernelstream", *map(str, with_fogd(arguments))]
    terminal, end = os.openpty()
    environment = ENVIRONMENT | {"TERM": "xterm"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=end, text=True) as running:
        progress = until(terminal, b"rows/s")
        running.send_signal(signal.SIGINT)
        table = until(terminal, b"n_components")
        output, _ = running.communicate(timeout=60)
    os.close(terminal)
    os.close(end)
    assert running.returncode == 130
    record = json.loads(output)
    assert record["interrupted"]
    assert 0 < record["rows"] < 200_000
    for word in ("task: binary (2 different labels in the first 4,096 rows: -1, 1)", "mistake rate", "size 800"):
        assert word in progress
    for word in ("fogd on long (interrupted)", "looking ahead"):
        assert word in table
    assert "Traceback" not in progress + table
    assert Learner.load(tmp_path / "m.ks").n_seen == record["rows"]


# The other commands.


def test_the_algorithms_are_listed():
    answer = call("algorithms")
    assert answer.exit_code == 0
    records = json.loads(call("algorithms", "--json").stdout)
    assert [record["name"] for record in records] == [name for names in PURPOSES.values() for name in names]
    for record in records:
        assert record["name"] in answer.stdout and record["purpose"] in answer.stdout
        assert record["name"] in PURPOSES[record["purpose"]]
        assert record["tasks"] == list(ALGORITHMS[record["name"]].tasks)
        assert "kernel" in record["parameters"]
        assert set(record["losses"]) == set(record["tasks"])


def test_the_demo_writes_where_it_is_told(tmp_path):
    answer = call("demo", "--output", tmp_path / "here")
    assert answer.exit_code == 0, answer.output
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"report.html", "curve.png"}
    lines = answer.stdout.splitlines()
    for name in LEARNERS:  # once for each of the three data sets, which have a task each
        assert sum(name in line.split() for line in lines) == len(ALGORITHMS[name].tasks)
    for path in (tmp_path / "here").iterdir():
        assert path.stat().st_size > 10_000
        assert any(line.endswith(f"here/{path.name}") for line in lines)
    (tmp_path / "file").write_text("")
    assert call("demo", "--output", tmp_path / "file").exit_code == 2


def test_version_and_help():
    assert call("--version").stdout == f"kernelstream {__version__}\n"
    text = call("run", "--help").stdout
    for option in (
        "--set",
        "--task",
        "--seed",
        "--shuffle",
        "--scale",
        "--save",
        "--label",
        "--dtype",
        "--json",
        "--test",
        "--runs",
        "--checkpoint",
        "--classes",
        "--survey",
    ):
        assert option in text
    assert "run" in call("--help").stdout


UNUSED = (
    *("sklearn", "pyarrow", "matplotlib", "pandas", "joblib", "river", "threadpoolctl", "tomllib", "http"),
    *("scipy.special", "scipy.linalg", "numpy.f2py.f2py2e", "numpy.testing._private", "pydantic"),
    *("kernelstream.algorithms.auto", "kernelstream.algorithms.bsgd", "kernelstream.cli.tuning"),
    *("kernelstream.estimators", "kernelstream.sources.delimited", "kernelstream.sources.datasets"),
)


@pytest.mark.parametrize("data", ["digits", "rows.libsvm"])
def test_a_command_imports_nothing_that_it_does_not_use(data, tmp_path):
    (tmp_path / "rows.libsvm").write_text("1 1:0.5 3:2\n-1 2:1\n" * 20)
    code = f"""
import sys
from kernelstream.cli import app
app(["run", "{data}", "--algorithm", "fogd", "--set", "n_components=10"], standalone_mode=False)
print([name for name in {UNUSED} if name in sys.modules], file=sys.stderr)
"""
    for _ in range(2):  # the first may have to compile, which imports more
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True, cwd=tmp_path
        )
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize("end", ["csv", "libsvm", "jsonl", "arff", "parquet", "arrow"])
def test_tables_and_models_are_read_without_pandas_and_matplotlib(end, tmp_path):
    rows = [
        f"2026-01-{1 + i % 28:02d},{'red' if i % 3 else 'blue'},{i % 7 or ''},{'yes' if i % 2 else 'no'}"
        for i in range(60)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["when,word,a,label", *rows, ""]))
    learned = f"again.{end}"
    commands = [
        ["run", "rows.csv", "--algorithm", "fogd", "--set", "n_components=10"],
        ["convert", "rows.csv", learned],
        ["run", learned, "--algorithm", "fogd", "--set", "n_components=10", "--save", "model.ks"],
        ["predict", "model.ks", learned],
        ["inspect", "model.ks"],
    ]
    code = f"""
import sys
from kernelstream.cli import app
for command in {commands}:
    app(command, standalone_mode=False)
    print(command, [name for name in ("pandas", "matplotlib") if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True, cwd=tmp_path
    )
    assert [line for line in done.stderr.splitlines() if line.startswith("[")] == [
        f"{command} []" for command in commands
    ]


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], [], ["rnu"], *({"COMP_WORDS": f"kernelstream {w}"} for w in ("", "ru"))]
)
def test_what_asks_for_no_command_is_answered_without_numpy(arguments):
    completing = isinstance(arguments, dict)
    asked = arguments | {"_KERNELSTREAM_COMPLETE": "complete_bash", "COMP_CWORD": "1"} if completing else {}
    code = f"""
import sys
from kernelstream.cli import app
try:
    app({[] if completing else arguments}, prog_name="kernelstream")
except SystemExit:
    print([name for name in ("numpy", "numba", "scipy", "pydantic") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT | asked, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert {"rnu": "Did you mean 'run'?"}.get("".join(arguments), "") in done.stderr
    if completing:
        assert "run" in done.stdout.splitlines()


def test_the_list_of_commands_says_of_each_what_it_says_itself():
    listed = typer.main.get_command(app).commands
    assert {name: one.help for name, one in listed.items()} == {
        name: command(name).help.split("\n\n")[0] for name in listed
    }
    assert re.findall(r"^  (\w+)  ", call("--help").stdout.partition("Commands:")[2], re.M) == list(listed)


@pytest.mark.parametrize("arguments", [["datasets"], ["datasets", "--json"], ["algorithms", "--json"]])
def test_a_list_needs_no_check_of_values(arguments):
    """Whose import takes longer than all else that is done with arguments."""
    code = f"""
import sys
from kernelstream.cli import app
app({arguments}, standalone_mode=False)
print("pydantic" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_runs_in_several_processes_end_without_a_word_of_theirs():
    done = process("run", "digits", "--runs", "2", "--jobs", "2")
    assert done.returncode == 0
    assert "Exception" not in done.stderr and "Traceback" not in done.stderr


def test_the_end_of_a_command_leaves_out_what_was_imported_and_nothing_else():
    code = """
import atexit, sys, threading, time
class Left:
    def __del__(self): print("taken apart")
sys.left = Left()
atexit.register(print, "asked at the end")
threading.Thread(target=lambda: (time.sleep(0.2), print("a thread is waited for"))).start()
sys.argv[1:] = ["run", "nowhere.csv"]
from kernelstream.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.returncode, done.stdout) == (2, "a thread is waited for\nasked at the end\n")
    assert "nowhere.csv" in done.stderr


def test_what_does_not_reach_its_reader_is_said():
    shell = f"exec 3>&1; ({sys.executable} -u -m kernelstream algorithms 3>&-; echo $? >&3) | true"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, env=ENVIRONMENT)
    assert int(done.stdout) != 0


@pytest.mark.parametrize("option", ["--seed=x", "--seed=-1", "--jobs=0", "--block-rows=1.5"])
def test_a_number_on_the_command_line_is_checked(option):
    answer = call("run", "digits", option)
    assert answer.exit_code == 2 and option.split("=")[0] in answer.output


def test_the_package_alone_imports_nothing():
    code = "import sys, kernelstream; print([name for name in sys.modules if name.startswith(('numpy', 'numba'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout.strip() == "[]"


def test_a_model_is_loaded_whatever_was_imported_before(tmp_path):
    model = tmp_path / "model.ks"
    assert call("run", "digits", "--algorithm", "rbp", "--save", model).exit_code == 0
    code = f"from kernelstream import Learner; print(Learner.load({str(model)!r}).name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout == "rbp\n"


def test_the_name_of_a_learner_is_taken_before_it_is_imported():
    code = """
from kernelstream import make
from kernelstream.engine import Algorithm
try:
    class FOGD(Algorithm):
        pass
except TypeError as error:
    print(error)
print(make("fogd"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout.startswith("The name FOGD belongs to kernelstream.algorithms.fogd.FOGD")
    assert "FOGD(" in done.stdout.splitlines()[-1]


# Labels that are asked for.

FEW = ("digits", "--algorithm", "rbp", "--scale", "online", "--ask", "margin:b=0.3")


def test_a_run_that_asks_learns_less_and_says_how_much(tmp_path):
    every, few = result("digits", "--algorithm", "rbp", "--scale", "online"), result(*FEW)
    assert few["ask"] == "margin:b=0.3" and "ask" not in every and "asked_rate" not in every
    assert 0.2 < few["asked_rate"] < 0.6 and few["rows"] == 1797
    assert every["mistake_rate"] < few["mistake_rate"] < every["mistake_rate"] + 0.05
    shown = call("run", *FEW, "--report", tmp_path / "page.html", "--csv", tmp_path / "few.csv")
    assert re.search(r"asked rate +\d\d\.\d\d %", shown.output) and "by margin:b=0.3" in shown.output
    page = (tmp_path / "page.html").read_text()
    assert "asked rate" in page and "by margin:b=0.3" in page
    assert "asked_rate" in (tmp_path / "few.csv").read_text().splitlines()[0]


def test_learners_ask_each_for_itself_and_in_every_order():
    answer = call("compare", "digits", "--algorithms", "rbp,fogd", *FEW[3:], "--json", "-")
    rates = [run["asked_rate"] for run in json.loads(answer.stdout)["runs"]]
    assert len(rates) == 2 and rates[0] != rates[1]
    summary = result(*FEW, "--runs", "2", "--jobs", "1")["summary"]
    assert 0.2 < summary["asked_rate"]["mean"] < 0.6 and summary["asked_rate"]["sd"] > 0


def test_a_run_that_asks_is_resumed_with_the_same_bits(tmp_path):
    X, y = load_digits(return_X_y=True)
    for name, n in (("some", 900), ("all", 1797)):
        dump_svmlight_file(X[:n], y[:n], str(tmp_path / f"{name}.libsvm"))
    data, part, common = tmp_path / "rows.libsvm", tmp_path / "part.ks", ("--task", "multiclass", *FEW[1:])
    data.write_bytes((tmp_path / "some.libsvm").read_bytes())
    kept = ("--checkpoint", part, "--every", "300")
    assert call("run", data, *common, *kept).exit_code == 0
    data.write_bytes((tmp_path / "all.libsvm").read_bytes())
    refused = call("run", data, *common[:-2], *kept, "--resume")
    assert refused.exit_code == 2 and "begun with --ask margin:b=0.3, and is to go on with no --ask" in refused.output
    resumed, whole = result(data, *common, *kept, "--resume"), result(data, *common)
    assert timeless(resumed)["asked_rate"] == timeless(whole)["asked_rate"]
    assert resumed["mistake_rate"] == whole["mistake_rate"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--ask", "surely"), "--ask surely is not known; choose one of margin, spread, random"),
        (("--ask", "margin", "--delay", "3"), "--delay is about labels of all rows"),
        (("--ask", "margin", "--drift", "adwin"), "--drift is about labels of all rows"),
        (("--ask", "margin", "--test", "digits"), "--test goes with none of"),
        (("--ask", "margin", "--workers", "2"), "--ask needs all rows in one place"),
        (("--ask", "spread"), "rbp does not say how much it knows of a row"),
    ],
)
def test_what_does_not_go_with_asking_is_refused(arguments, words):
    answer = call("run", "digits", "--algorithm", "rbp", *arguments)
    assert answer.exit_code == 2 and words in " ".join(answer.stderr.split())


def test_what_has_no_labels_to_ask_for_is_refused():
    assert "labels are asked for where there are classes" in call("run", "diabetes", "--ask", "margin").output
    theirs = ("compare", "digits", "--algorithms", "sklearn.linear_model.SGDClassifier", "--ask", "random")
    assert "for our own algorithms only" in " ".join(call(*theirs).output.split())
