"""Laws of the client: rows of any kind reach a service, each is learned once, and what goes wrong is said."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kernelstream import FOGD, Binary, Learner
from kernelstream.client import Client, ServiceError
from kernelstream.client.rows import FEW
from services import Between, serving

SPEC = {"name": "fogd", "n_components": 20, "kernel.gamma": 0.5}
NO_YES = {"task": "binary", "classes": ["no", "yes"], "algorithm": SPEC}


@pytest.fixture(scope="module")
def client(service):
    with Client(service.url) as found:
        yield found


@pytest.fixture
def name(request):
    return "".join(letter for letter in request.node.name if letter.isalnum())[-60:]


def some(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


def offline(columns=None):
    from kernelstream.kernels import Gaussian

    spec = FOGD(kernel=Gaussian(gamma=0.5), n_components=20)
    return Learner(spec, Binary(["no", "yes"]), seed=0, columns=columns)


def table_of(X):
    rng = np.random.default_rng(1)
    words = np.array(["PT", "DE", "FR"])[rng.integers(0, 3, len(X))]
    return {"a": X[:, 0].astype(float), "id": X[:, 1].astype(float), "country": words}


def turning(n, change):
    """Rows whose labels mean the other one from a row on."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.where((X[:, 0] > 0) ^ (np.arange(n) >= change), "yes", "no")


# Rows of any kind.


def test_arrays_are_learned_as_by_a_learner(client, name):
    X, y = some(700)
    model = client.make(name, **NO_YES)
    learner = offline()
    honest = learner.task.decode(learner.learn(X, y))
    assert model.learn(X, y).tolist() == honest.tolist()
    assert np.array_equal(model.decision_function(X, fresh=True), learner.scores(X)[:, 0])
    assert np.array_equal(model.predict_proba(X), learner.probabilities_of(learner.scores(X)))
    assert model.predict(X[:5].tolist()).tolist() == learner.task.decode(learner.scores(X[:5])).tolist()


@pytest.mark.parametrize("rows", [1, 7, 10_000])
def test_how_a_call_is_cut_into_requests_changes_nothing(service, name, rows):
    X, y = some(60)
    learner = offline()
    learner.learn(X, y)
    with Client(service.url, rows=rows) as cut:
        model = cut.make(name, **NO_YES)
        model.learn(X, y)
        assert np.array_equal(model.decision_function(X, fresh=True), learner.scores(X)[:, 0])
        assert model.describe()["rows_learned"] == 60


def test_json_and_arrow_are_the_same_rows(client, name):
    X, y = some(FEW)
    assert FEW % 3
    at = FEW // 3  # as many as go as JSON
    one, other = client.make(f"{name}1", **NO_YES), client.make(f"{name}2", **NO_YES)
    one.learn(X, y)
    for start in range(0, len(X), at):
        other.learn(X[start : start + at], y[start : start + at])
    assert np.array_equal(one.decision_function(X, fresh=True), other.decision_function(X, fresh=True))
    assert np.array_equal(one.predict_proba(X[:at]), one.predict_proba(X)[:at])
    assert one.predict(X)[:at].tolist() == one.predict(X[:at]).tolist()


def test_tables_and_dictionaries_are_the_same_rows(client, name):
    """A column may be called as the service calls what is no feature."""
    X, y = some(50)
    given = table_of(X)
    rows = pd.DataFrame(given).to_dict("records")
    tables = {"pandas": pd.DataFrame(given), "polars": pl.DataFrame(given), "arrow": pa.table(given), "rows": rows}
    tables["batch"] = tables["arrow"].to_batches()[0]
    scores = {}
    for kind, table in tables.items():
        model = client.make(f"{name}{kind}", **NO_YES)
        labels = pd.Series(y) if kind == "pandas" else pl.Series(y) if kind == "polars" else pa.array(y.tolist())
        assert len(model.learn(table, labels, sample_weight=np.full(50, 0.5))) == 50
        scores[kind] = model.decision_function(rows, fresh=True)
        assert np.array_equal(scores[kind], model.decision_function(table))
        assert [one["name"] for one in model.describe()["inputs"]] == ["a", "id", "country"]
    assert all(np.array_equal(found, scores["pandas"]) for found in scores.values())


def test_a_dictionary_is_a_row_and_values_may_be_missing(client, name):
    model = client.make(name, **NO_YES)
    assert model.learn({"a": 1.5, "b": np.float32(2)}, "yes").shape == (1,)
    assert model.learn([{"a": float("nan"), "b": 1}, {"a": np.nan, "b": np.int64(2)}], ["no", "yes"]).shape == (2,)
    assert model.learn(pd.DataFrame({"a": [1.0, None], "b": [1, 2]}), np.array(["no", "yes"])).shape == (2,)
    assert model.describe()["rows_learned"] == 5


def test_dates_of_dictionaries_are_those_of_tables(client, name):
    moments = [datetime(2024, 3, 1, 5) + timedelta(hours=7 * t) for t in range(20)]
    whens = [moments, [np.datetime64(m, "ns") for m in moments], [pd.Timestamp(m, tz="UTC") for m in moments]]
    found = []
    for k, some in enumerate([*whens, list(map(str, moments))]):
        model = client.make(f"{name}-{k}", task="regression", algorithm=SPEC, dates=("day", "trend"))
        model.learn([{"when": when, "x": 1.0} for when in some], [float(t % 3) for t in range(20)])
        found.append(model.predict([{"when": some[3], "x": 1.0}, {"when": pd.NaT, "x": 1.0}], fresh=True).tolist())
        assert model.describe()["dates"] == ["when"]
    model = client.make(f"{name}-t", task="regression", algorithm=SPEC, dates="day,trend")
    model.learn(pd.DataFrame({"when": moments, "x": 1.0}), [float(t % 3) for t in range(20)])
    found.append(model.predict(pd.DataFrame({"when": [moments[3], None], "x": 1.0}), fresh=True).tolist())
    assert all(one == found[0] for one in found)
    with pytest.raises(ValueError, match=r"labels 'a' have no ids; give them by these: label\({'tx-1': 'yes'}\)"):
        model.label("a", "yes")


def test_several_classes_and_regression(client, name):
    X, _ = some(300)
    many = client.make(f"{name}many", task="multiclass", algorithm=SPEC)
    many.learn(X, np.arange(300) % 3)
    assert many.predict(X, fresh=True).dtype.kind == "i"
    assert many.predict_proba(X[:4]).shape == many.decision_function(X[:4]).shape == (4, 3)
    values = client.make(f"{name}values", task="regression", algorithm=SPEC)
    assert values.learn(X, X[:, 0]).dtype == np.float64
    assert np.array_equal(values.predict(X, fresh=True), values.decision_function(X))
    for rows in (X, X[:2]):
        with pytest.raises(ValueError, match="no classifier and has no probabilities"):
            values.predict_proba(rows)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([1.0, 2.0], ["no", "no"], "reshape"),
        ([["a", 1.0]], ["no"], "dictionaries, or a table"),
        ([[1.0, np.nan]], ["no"], "Row 0: feature 1 is nan"),
        ([], [], "shape"),
        (pd.DataFrame({"a": []}), [], "no rows"),
        ([{"a": 1}, [2]], ["no", "no"], "Row 1 is a list"),
        ([{"a": np.inf}], ["no"], "'a' is inf"),
        ([{"a": timedelta(1)}], ["no"], "'a' is a timedelta; dictionaries hold words"),
        ([{"a": np.timedelta64(1, "ns")}], ["no"], "'a' is a .*; dictionaries hold words"),
        ([[1.0]], ["no", "yes"], "1 rows and 2 labels"),
        ([[1.0], [2.0]], ["no", None], "Row 1 has the label None"),
        ([[1.0]], np.array([["no"]]), r"shape \(1, 1\)"),
        ([{"a": 1.0}, {"a": np.inf}], ["no", "no"], "Row 1: 'a' is inf"),
        ([[1.0], [2.0]], ["no", 1], "Row 1 has the label 1, row 0 has 'no'"),
        (pl.LazyFrame({"a": [1]}), ["no"], r"X.collect\(\)"),
        (pd.DataFrame({"a": [1, "b"]}), ["no", "no"], "several kinds"),
    ],
)
def test_what_are_no_rows_is_said_before_anything_is_sent(X, y, words):
    with Client("http://127.0.0.1:1", rows=1, retries=0) as nobody, pytest.raises(ValueError, match=words):
        nobody.model("m").learn(X, y)


def test_sparse_rows_are_refused_with_the_remedy():
    from scipy.sparse import csr_array

    with Client("http://127.0.0.1:1") as nobody, pytest.raises(ValueError, match="toarray"):
        nobody.model("m").predict(csr_array(np.eye(3)))


# Late labels, snapshots, files.


def test_rows_wait_for_their_labels(service, name):
    X, y = some(30)
    with Client(service.url, rows=12) as client:
        model = client.make(name, **NO_YES)
        ids = np.arange(30)
        assert len(model.predict(X, ids=ids)) == 30
        assert model.describe()["rows_waiting"] == 30
        found = model.label({str(id): label for id, label in zip(ids[:20], y[:20], strict=True)})
        assert found == {str(id): "learned" for id in range(20)}
        found = model.label({"3": y[3], "25": "maybe", "none": "no"})
        assert found["3"] == "repeated" and found["none"] == "unknown"
        assert found["25"].startswith("refused: ") and "maybe" in found["25"]
        with pytest.raises(ValueError, match="has the label nan"):
            model.label({"26": float("nan")})
        assert model.describe()["rows_learned"] == 20


def test_a_model_goes_back_and_travels(client, name, tmp_path):
    X, y = some(80)
    model = client.make(name, **NO_YES)
    model.learn(X[:50], y[:50])
    assert model.snapshot("half")["rows_learned"] == 50
    model.learn(X[50:], y[50:])
    model.download(tmp_path / "whole.ks")
    learner = Learner.load(tmp_path / "whole.ks")
    assert learner.n_seen == 80
    assert np.array_equal(learner.scores(X)[:, 0], model.decision_function(X, fresh=True))
    assert model.restore("half")["rows_learned"] == 50
    assert [one["name"] for one in model.describe()["snapshots"]] == ["half"]
    model.delete_snapshot("half")
    assert model.describe()["snapshots"] == []
    copy = client.upload(f"{name}2", tmp_path / "whole.ks")
    assert np.array_equal(copy.decision_function(X), learner.scores(X)[:, 0])
    assert {name, f"{name}2"} <= {one["name"] for one in client.models()}
    assert model.history()["metric"] == "mistake_rate"
    client.delete(name)
    with pytest.raises(ServiceError, match="no model") as refused:
        model.describe()
    assert refused.value.status == 404


def test_a_model_of_the_service_looks_out_for_drift_itself(tmp_path):
    X, y = turning(1600, 900)
    plain = Learner(offline().algorithm, offline().task, drift=["adwin", "adwin:on=0"], on_drift="forget:200")
    honest = plain.task.decode(plain.learn(X, y))
    with serving(tmp_path / "store") as service, Client(service.url, rows=150) as client:
        model = client.make("m", **NO_YES, drift=["adwin", "adwin:on=0"], on_drift="forget:200")
        assert model.describe()["drift"] is None  # before its first row
        said = [model.learn(X[:1000], y[:1000])]
        service.kill()
        service.start()
        said.append(model.learn(X[1000:], y[1000:]))
        assert np.concatenate(said).tolist() == honest.tolist()
        told = model.describe()
        assert told["drift"]["found"] == [drift._asdict() for drift in plain.drifts]
        assert told["drift"]["watches"] == ["adwin", "adwin:on=0"] and told["rows_learned"] == 1600
        assert told["drift"]["begun_anew"] == plain.times_begun_anew > 0
        counted = client.ask("GET", "/metrics").text
        assert f'kernelstream_begun_anew_total{{model="m"}} {plain.times_begun_anew}.0' in counted
        model.download(tmp_path / "m.ks")
        found = client.upload("n", tmp_path / "m.ks")
        assert found.describe()["drift"] == told["drift"]
        assert np.array_equal(found.learn(X[:300], y[:300]), plain.task.decode(plain.learn(X[:300], y[:300])))
        for wrong, words in (
            ({"drift": "adwinn"}, "did you mean adwin"),
            ({"on_drift": "restart"}, "needs a detector"),
        ):
            with pytest.raises(ServiceError, match=words):
                client.make("o", **NO_YES, **wrong)


def test_a_download_that_fails_leaves_what_was_there(client, name, tmp_path):
    path = tmp_path / "model.ks"
    path.write_bytes(b"before")
    model = client.make(name, **NO_YES)
    with pytest.raises(ServiceError, match="Nothing was learned yet") as refused:
        model.download(path)
    assert refused.value.status == 409
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


# Each row once.


def test_an_answer_that_is_lost_is_asked_for_again_and_nothing_is_learned_twice(service, name):
    X, y = some(40)
    learner = offline()
    honest = learner.task.decode(learner.learn(X, y))
    with Between(service) as between, Client(between.url, rows=10) as client:
        model = client.make(name, **NO_YES)
        between.faults += [Between.LOST, None, Between.LOST, Between.LOST, None, None, Between.LOST]
        assert model.learn(X, y).tolist() == honest.tolist()
        keys = [key for _, key, _ in between.asked[1:]]
        assert len(keys) == 8 and len(set(keys)) == 4
        between.faults += [Between.LOST, None, Between.LOST]
        model.predict(X[:10], ids=range(10))
        assert model.label({str(id): y[id] for id in range(10)}) == {str(id): "learned" for id in range(10)}
        found = model.describe()
    assert found["rows_learned"] == 50 and found["rows_waiting"] == 0


def test_a_call_that_was_given_up_goes_on_under_its_key(service, name):
    X, y = some(40)
    learner = offline()
    honest = learner.task.decode(learner.learn(X, y))
    with Between(service) as between, Client(between.url, rows=10, retries=0) as client:
        model = client.make(name, **NO_YES)
        between.faults += [None, None, Between.LOST]
        with pytest.raises(ServiceError, match="does not answer") as given_up:
            model.learn(X, y)
        assert given_up.value.status is None
        assert model.learn(X, y, key=given_up.value.key).tolist() == honest.tolist()
        assert model.learn(X, y, key=given_up.value.key).tolist() == honest.tolist()
        assert model.describe()["rows_learned"] == 40
        with pytest.raises(ServiceError, match="used for another request"):
            model.learn(X[::-1], y, key=given_up.value.key)


@pytest.mark.parametrize("status", [429, 502, 503, 504, 507])
def test_a_service_that_cannot_now_is_asked_again(service, name, status):
    X, y = some(5)
    with Between(service) as between, Client(between.url) as client:
        model = client.make(name, **NO_YES)
        between.faults += [(status, {}), (status, {})]
        model.learn(X, y)
        assert model.describe()["rows_learned"] == 5
        assert len(between.asked) == 5


def test_a_service_that_names_a_time_is_left_alone_for_so_long(service, name):
    X, y = some(5)
    with Between(service) as between, Client(between.url) as client:
        model = client.make(name, **NO_YES)
        between.faults += [(503, {"Retry-After": "1"})]
        model.learn(X, y)
        (first, *_), (second, *_) = between.asked[1:]
    assert 1.0 <= second - first < 2.0


def test_tries_end_and_the_error_says_how_many_there_were(service, name):
    with Between(service) as between, Client(between.url, retries=2) as client:
        between.faults += [(507, {})] * 3
        with pytest.raises(ServiceError, match=r"Not now.* \(507\), after 3 tries in ") as refused:
            client.model(name).learn([[1.0]], ["no"])
        assert refused.value.status == 507 and len(between.asked) == 3


def test_what_cannot_be_repeated_is_not(service, name):
    """Who does not know whether a snapshot was made looks."""
    X, y = some(5)
    with Between(service) as between, Client(between.url) as client:
        model = client.make(name, **NO_YES)
        model.learn(X, y)
        between.faults += [Between.LOST]
        with pytest.raises(ServiceError, match="look whether it has done this"):
            model.snapshot("s")
        assert [one["name"] for one in model.describe()["snapshots"]] == ["s"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_service_that_is_killed_while_a_client_learns_learns_every_row_once(tmp_path):
    X, y = some(1500)
    learner = offline()
    honest = learner.task.decode(learner.learn(X, y))
    said = []
    with serving(tmp_path / "store") as service, Client(service.url, rows=20, timeout=20, retries=30) as client:
        model = client.make("m", **NO_YES)
        learning = threading.Thread(target=lambda: said.append(model.learn(X, y)))
        learning.start()
        with Client(service.url) as watching:
            for enough in (200, 800):
                while watching.model("m").describe()["rows_learned"] < enough:
                    assert learning.is_alive()
                    time.sleep(0.005)
                service.kill()
                assert learning.is_alive()
                service.start()
        learning.join()
        assert model.describe()["rows_learned"] == 1500
        model.download(tmp_path / "m.ks")
    assert said[0].tolist() == honest.tolist()
    assert np.array_equal(Learner.load(tmp_path / "m.ks").scores(X), learner.scores(X))


def test_answers_do_not_wait_for_acknowledgements():
    """With Nagle's algorithm an answer, which is sent in two pieces, takes 40 ms."""
    from kernelstream.serve.server import _listening
    from kernelstream.serve.settings import Settings

    async def connected():
        found = asyncio.get_running_loop().create_future()
        listening = _listening(Settings(port=0))

        def accepted(_, writer):
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(accepted, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            at_once = await found
            writer.close()
        return at_once

    assert asyncio.run(connected())


# What goes wrong is said.


def test_the_services_words_and_status_are_the_errors(client, name):
    with pytest.raises(ServiceError, match="binary task needs its two classes") as refused:
        client.make(name, task="binary", algorithm=SPEC)
    assert refused.value.status == 422 and refused.value.key is None
    model = client.make(name, **NO_YES)
    model.learn([[1.0, 2.0]], ["no"])
    with pytest.raises(ServiceError, match="maybe") as refused:
        model.learn([[1.0, 2.0]], ["maybe"])
    assert refused.value.status == 422 and refused.value.key
    with pytest.raises(ServiceError, match="another model") as refused:
        client.make(name, task="regression", algorithm=SPEC)
    assert refused.value.status == 409


def test_nobody_there_is_said(tmp_path):
    with Client("http://127.0.0.1:1", retries=1) as nobody:
        assert not nobody.ready()
        with pytest.raises(
            ServiceError, match=r"127.0.0.1:1 does not answer .* after 2 tries .* is the service running"
        ):
            nobody.models()


def test_a_client_is_told_wrong_settings():
    for given, words in (
        (("localhost:8000",), "begins with http"),
        (("http://a", "x\ny"), "token"),
        (("http://a", None, 0), "timeout"),
    ):
        url, token, timeout = (*given, None, 1)[:3] if len(given) < 3 else given
        with pytest.raises(ValueError, match=words):
            Client(url, token=token, timeout=1 if timeout is None else timeout)
    with Client("http://127.0.0.1:1") as nobody, pytest.raises(ValueError, match="180 plain letters"):
        nobody.model("m").learn([[1.0]], [0], key="k" * 181)


def test_a_token_is_sent_and_its_scope_counts(tmp_path):
    from kernelstream.serve import tokens

    given = {scope: tokens.make_token(tmp_path / "store", scope, scope) for scope in tokens.SCOPES}
    with serving(tmp_path / "store") as service:
        with Client(service.url, token=given["admin"]) as admin:
            assert admin.ready()
            admin.make("m", **NO_YES).learn([[1.0, 2.0]], ["no"])
        with Client(service.url, token=given["predict"]) as looking:
            assert looking.model("m").predict([[1.0, 2.0]]).shape == (1,)
            with pytest.raises(ServiceError, match="may predict; this needs learn") as refused:
                looking.model("m").learn([[1.0, 2.0]], ["no"])
            assert refused.value.status == 403
        with Client(service.url) as nobody, pytest.raises(ServiceError, match="asks for a token") as refused:
            nobody.models()
        assert refused.value.status == 401


def test_the_package_imports_no_client_and_a_missing_one_is_named():
    code = (
        "import sys, kernelstream; assert 'httpx' not in sys.modules; sys.modules['httpx'] = None\n"
        "try:\n    import kernelstream.client\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'kernelstream[client]' brings it" in done.stdout
