"""The Open Inference Protocol, spoken by clients of others: Triton's (JSON and binary tensors), the protocol's own."""

import gzip
import warnings

import httpx
import numpy as np
import pytest

from kernelstream.client import Client

SPEC = {"name": "fogd", "n_components": 20, "kernel.gamma": 0.5}

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of packages below it
    http = pytest.importorskip("tritonclient.http", reason="pip install 'tritonclient[http]'")
    openapi = pytest.importorskip("open_inference.openapi", reason="pip install open-inference-openapi")
    from open_inference.openapi.client import OpenInferenceClient
    from open_inference.openapi.errors import BadRequestError, NotFoundError
    from tritonclient.utils import InferenceServerException, np_to_triton_dtype


def some(n=40):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


@pytest.fixture(scope="module")
def models(service):
    """Of three tasks, with names and without."""
    X, y = some()
    words = ["left" if x > 0 else "right" for x in X[:, 2]]
    rows = [{"a": a, "b": b, "side": side} for (a, b, _), side in zip(X.tolist(), words, strict=True)]
    with Client(service.url) as client:
        plain = client.make("oip-plain", task="binary", classes=["no", "yes"], algorithm=SPEC)
        plain.learn(X, y)
        named = client.make("oip-named", task="binary", classes=["no", "yes"], algorithm=SPEC)
        named.learn(rows, y)
        many = client.make("oip-many", task="multiclass", classes=[0, 1, 2], algorithm=SPEC)
        many.learn(X, np.arange(len(X)) % 3)
        values = client.make("oip-values", task="regression", algorithm=SPEC)
        values.learn(X, X[:, 0])
        found = {"plain": plain, "named": named, "many": many, "values": values}
        for model in found.values():
            model.predict(X[:1] if model is not named else rows[:1], fresh=True)
        yield found, rows


@pytest.fixture(scope="module")
def triton(service, models):
    with http.InferenceServerClient(service.url.removeprefix("http://")) as client:
        yield client


@pytest.fixture(scope="module")
def protocol(service, models):
    with httpx.Client() as connections:
        yield OpenInferenceClient(base_url=service.url, httpx_client=connections)


def tensor(name, values, kind, *, binary):
    found = http.InferInput(name, list(values.shape), kind)
    return found.set_data_from_numpy(values, binary_data=binary)


def outputs(binary, *names):
    return [http.InferRequestedOutput(name, binary_data=binary) for name in names]


# Triton's client.


def test_triton_finds_the_server_and_its_models(triton):
    assert triton.is_server_live() and triton.is_server_ready()
    assert triton.is_model_ready("oip-plain") and triton.is_model_ready("oip-plain", "1")
    assert not triton.is_model_ready("none") and not triton.is_model_ready("oip-plain", "2")
    told = triton.get_server_metadata()
    assert told["name"] == "kernelstream" and "binary_tensor_data" in told["extensions"]


def test_triton_reads_what_a_model_takes(triton):
    for version in ("", "1"):
        told = triton.get_model_metadata("oip-named", version)
        assert told["versions"] == ["1"]
        assert [(one["name"], one["datatype"]) for one in told["inputs"]] == [
            ("a", "FP64"),
            ("b", "FP64"),
            ("side", "BYTES"),
        ]
    with pytest.raises(InferenceServerException, match="no version '2'") as refused:
        triton.get_model_metadata("oip-named", "2")
    assert refused.value.status() == "404"


@pytest.mark.parametrize("into", [False, True], ids=["json-in", "binary-in"])
@pytest.mark.parametrize("out", [False, True], ids=["json-out", "binary-out"])
@pytest.mark.parametrize("kind", ["FP64", "FP32"])
def test_triton_predicts_as_our_client(triton, models, into, out, kind):
    X, _ = some()
    X = X.astype({"FP64": np.float64, "FP32": np.float32}[kind])
    plain = models[0]["plain"]
    asked = outputs(out, "prediction", "scores", "probabilities")
    found = triton.infer("oip-plain", [tensor("x", X, kind, binary=into)], outputs=asked, request_id="seven")
    assert found.get_response()["id"] == "seven"
    said = found.as_numpy("prediction")
    assert [word.decode() if out else word for word in said] == plain.predict(X).tolist()
    assert np.array_equal(found.as_numpy("scores")[:, 0], plain.decision_function(X))
    assert np.array_equal(found.as_numpy("probabilities"), plain.predict_proba(X))


def test_triton_without_outputs_gets_all_of_them(triton, models):
    X, _ = some()
    found = triton.infer("oip-plain", [tensor("x", X, "FP64", binary=True)], model_version="1")
    names = [one["name"] for one in found.get_response()["outputs"]]
    assert names == ["prediction", "scores", "probabilities"]
    assert found.as_numpy("scores").dtype == np.float64
    assert "id" not in found.get_response()


@pytest.mark.parametrize("binary", [False, True])
def test_triton_gives_columns_with_names_and_words(triton, models, binary):
    named, rows = models[0]["named"], models[1]
    columns = {name: [row[name] for row in rows] for name in ("a", "b", "side")}
    given = [
        tensor("a", np.array(columns["a"]).reshape(-1, 1), "FP64", binary=binary),
        tensor("b", np.array(columns["b"]), "FP64", binary=binary),
        tensor("side", np.array(columns["side"], object), "BYTES", binary=binary),
    ]
    found = triton.infer("oip-named", given, outputs=outputs(binary, "scores"))
    assert np.array_equal(found.as_numpy("scores")[:, 0], named.decision_function(rows))


@pytest.mark.parametrize("binary", [False, True])
def test_triton_reads_whole_numbers_and_reals(triton, models, binary):
    X, _ = some()
    found = triton.infer(
        "oip-many", [tensor("x", X, "FP64", binary=binary)], outputs=outputs(binary, "prediction", "probabilities")
    )
    assert found.as_numpy("prediction").tolist() == models[0]["many"].predict(X).tolist()
    assert found.as_numpy("prediction").dtype == np.int64
    assert found.as_numpy("probabilities").shape == (len(X), 3)
    found = triton.infer("oip-values", [tensor("x", X, "FP64", binary=binary)], outputs=outputs(binary, "prediction"))
    assert np.array_equal(found.as_numpy("prediction"), models[0]["values"].predict(X))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, np.float16, np.bool_])
def test_triton_sends_numbers_of_every_kind(triton, models, kind):
    X = np.arange(6).reshape(2, 3).astype(kind)
    given = tensor("x", X, np_to_triton_dtype(X.dtype), binary=True)
    found = triton.infer("oip-values", [given], outputs=outputs(True, "prediction"))
    assert np.array_equal(found.as_numpy("prediction"), models[0]["values"].predict(X.astype(np.float64)))


@pytest.mark.parametrize(("ask", "answer"), [("gzip", None), ("deflate", None), (None, "gzip")])
def test_triton_may_send_bodies_that_are_packed(triton, models, ask, answer):
    X, _ = some()
    found = triton.infer(
        "oip-values",
        [tensor("x", X, "FP64", binary=True)],
        request_compression_algorithm=ask,
        response_compression_algorithm=answer,
    )
    assert np.array_equal(found.as_numpy("prediction"), models[0]["values"].predict(X))


def test_triton_is_told_what_is_wrong(triton):
    X, _ = some()
    good = tensor("x", X, "FP64", binary=True)
    for model, version, given, wanted, words, status in (
        ("none", "", good, (), "no model 'none'", "404"),
        ("oip-plain", "3", good, (), "no version '3'", "404"),
        ("oip-plain", "", good, ("sums",), "no output 'sums'", "400"),
        ("oip-values", "", good, ("probabilities",), "has no probabilities", "400"),
        ("oip-plain", "", tensor("x", X[:, :2], "FP64", binary=True), (), "2 features", "422"),
    ):
        with pytest.raises(InferenceServerException, match=words) as refused:
            triton.infer(model, [given], version, outputs=outputs(True, *wanted) or None)
        assert refused.value.status() == status


# The protocol's own client.


def test_the_protocols_client_finds_the_server_and_its_models(protocol):
    protocol.check_server_liveness()
    protocol.check_server_readiness()
    protocol.check_model_readiness("oip-plain")
    protocol.check_model_version_readiness("oip-plain", "1")
    for model, version in (("none", "1"), ("oip-plain", "2")):
        with pytest.raises(NotFoundError):
            protocol.check_model_version_readiness(model, version)
    assert protocol.read_server_metadata().name == "kernelstream"
    told = protocol.read_model_metadata("oip-many")
    assert told == protocol.read_model_version_metadata("oip-many", "1")
    assert [(one.name, one.datatype, one.shape) for one in told.outputs] == [
        ("prediction", "INT64", [-1]),
        ("scores", "FP64", [-1, 3]),
        ("probabilities", "FP64", [-1, 3]),
    ]


def test_the_protocols_client_predicts_as_ours(protocol, models):
    """Of nested lists, and of flat ones; its own words for what is left out are null."""
    X, _ = some()
    many, values = models[0]["many"], models[0]["values"]
    for data in (X.tolist(), X.reshape(-1).tolist()):
        asked = {"name": "x", "shape": list(X.shape), "datatype": "FP64", "data": data}
        found = protocol.model_infer("oip-many", request=openapi.InferenceRequest(inputs=[asked]))
        said = {one.name: np.array(one.data.__root__).reshape(one.shape) for one in found.outputs}
        assert found.model_name == "oip-many" and found.model_version == "1" and found.id is None
        assert said["prediction"].tolist() == many.predict(X).tolist()
        assert np.array_equal(said["scores"], many.decision_function(X))
    request = openapi.InferenceRequest(id="seven", inputs=[asked], outputs=[openapi.RequestOutput(name="prediction")])
    found = protocol.model_version_infer("oip-values", "1", request=request)
    assert found.id == "seven" and [one.name for one in found.outputs] == ["prediction"]
    assert np.array_equal(found.outputs[0].data.__root__, values.predict(X))


def test_the_protocols_client_is_told_what_is_wrong(protocol):
    asked = {"name": "x", "shape": [1, 3], "datatype": "FP65", "data": [1.0, 2.0, 3.0]}
    with pytest.raises(BadRequestError) as refused:
        protocol.model_infer("oip-plain", request=openapi.InferenceRequest(inputs=[asked]))
    assert "'FP65' is not known" in refused.value.body["error"]


# What no client of others says.


@pytest.mark.parametrize(
    ("body", "encoding", "status", "words"),
    [
        (b"{}", "br", 415, "there are gzip and deflate"),
        (b"{}", "gzip", 400, "is not gzip"),
        (gzip.compress(b"{}", mtime=0)[:-9], "gzip", 400, "end is missing"),
        (gzip.compress(b" " * (33 * 2**20), mtime=0), "gzip", 413, "33,554,432 bytes"),
    ],
)
def test_bodies_that_cannot_be_unpacked_are_refused(service, models, body, encoding, status, words):
    url = f"{service.url}/v2/models/oip-plain/infer"
    answer = httpx.post(url, content=body, headers={"Content-Encoding": encoding})
    assert answer.status_code == status and words in answer.json()["error"]


def test_inputs_are_those_of_the_description(service, models):
    def infer(model, **inputs):
        asked = [{"name": k, "shape": [1, 1], "datatype": kind, "data": [v]} for k, (kind, v) in inputs.items()]
        answer = httpx.post(f"{service.url}/v2/models/{model}/infer", json={"inputs": asked})
        return answer.status_code, answer.json()

    good = {"a": ("FP64", 0.5), "b": ("FP64", 0.5), "side": ("BYTES", "left")}
    assert infer("oip-named", **good)[0] == 200
    status, told = infer("oip-named", **good, aa=("FP64", 1.0))
    assert status == 400 and "no input 'aa'; this model has a, b, side" in told["error"]
    status, told = infer("oip-named", **good | {"a": ("BYTES", "0.5")})
    assert status == 422 and "'0.5' of 'a' is a word" in told["error"]
    status, told = infer("oip-plain", a=("FP64", 1.0))
    assert status == 400 and "no input 'a'; this model has x" in told["error"]
    with Client(service.url) as client:
        model = client.make("oip-x", task="regression", algorithm=SPEC)
        model.learn([{"x": 0.5}, {"x": 1.0}], [1.0, 2.0])
        expected = model.predict([{"x": 0.5}], fresh=True)
        (described,) = model.describe()["inputs"]
        assert described == {"name": "x", "datatype": "FP64", "shape": [-1, 1]}
        status, told = infer("oip-x", x=("FP64", 0.5))
        assert status == 200 and told["outputs"][0]["data"] == expected.tolist()


def test_null_stands_for_what_is_left_out(service, models):
    given = {"name": "x", "shape": [1, 3], "datatype": "FP64", "data": [1, 2, 3], "parameters": None}
    asked = {"inputs": [given], "outputs": None, "parameters": None, "id": None}
    answer = httpx.post(f"{service.url}/v2/models/oip-values/infer", json=asked)
    assert answer.status_code == 200 and [one["name"] for one in answer.json()["outputs"]] == ["prediction", "scores"]
