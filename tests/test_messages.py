"""Laws of messages: a stream is learned as a file with the same rows, each message once, whoever kills the run."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kernelstream import Learner
from kernelstream.cli import app
from kernelstream.sources import open_source
from kernelstream.sources.servers import shown
from servers import SERVERS, as_json, mosquitto, redis_streams

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src"), "COLUMNS": "100"}
OPTIONS = ("--algorithm", "rbp", "--set", "budget=20", "--categorical", "onehot", "--missing", "mean")
NAMES = ("a", "b", "colour", "label")


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    with SERVERS[request.param](tmp_path_factory.mktemp(request.param)) as face:
        yield face


@pytest.fixture
def stream(request):
    return "".join(letter for letter in request.node.name if letter.isalnum())


def rows(n, seed=0):
    """Numbers, some of them missing, words that come later, labels that are words."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(4).tolist()
    colours = [f"c{at}" for at in rng.integers(0, 2 + np.arange(n) // 40)]
    labels = ["yes" if a * b > 0 else "no" for a, b in X]
    return [
        (None if at % 7 == 3 else a, b, colour, label)
        for at, ((a, b), colour, label) in enumerate(zip(X, colours, labels, strict=True))
    ]


def in_a_file(tmp_path, given):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(as_json(given, NAMES)) + b"\n")
    return path


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def model_of(*arguments, save):
    answer = call("run", *arguments, *OPTIONS, "--save", save)
    assert answer.exit_code == 0, answer.output
    return Learner.load(save)


def same(one, other):
    X = np.random.default_rng(1).normal(size=(50, one.width))
    assert one.n_seen == other.n_seen
    assert np.array_equal(one.scores(X), other.scores(X))


def test_a_stream_is_learned_as_the_file_with_its_rows(server, stream, tmp_path):
    given = rows(300)
    url = server.url(stream)
    server.fill(stream, as_json(given, NAMES))
    found = model_of(f"{url}?until=now", "--block-rows", "64", save=tmp_path / "a.ks")
    same(found, model_of(in_a_file(tmp_path, given), save=tmp_path / "b.ks"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_killed_run_learns_every_message_once(server, stream, tmp_path):
    """Killed at the second and the fifth checkpoint; messages come while it runs, while it is dead, and afterwards."""
    given = rows(1500)
    url, part = server.url(stream), tmp_path / "part.ks"
    server.fill(stream, as_json(given[:700], NAMES))
    command = [sys.executable, "-m", "kernelstream", "run", url, *OPTIONS, "--checkpoint", part, "--every", "37"]
    command = [str(word) for word in command] + ["--resume", "--block-rows", "16"]
    seen = []
    for more in (given[700:1100], given[1100:]):
        before = part.stat().st_mtime_ns if part.exists() else 0
        with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
            while not part.exists() or part.stat().st_mtime_ns == before:
                assert running.poll() is None, running.stderr.read().decode()
                time.sleep(0.002)
            running.send_signal(signal.SIGKILL)
        seen.append(Learner.load_with_header(part)[1]["run"]["rows"])
        server.fill(stream, as_json(more, NAMES))
    assert 0 < seen[0] < seen[1] < 1500
    answer = call("run", f"{url}?until=now", *OPTIONS, "--checkpoint", part, "--every", "37", "--resume", "--json", "-")
    assert answer.exit_code == 0, answer.output
    assert f"resumed after {seen[1]:,} rows" in answer.stderr
    assert json.loads(answer.stdout)["rows"] == 1500
    same(Learner.load(part), model_of(in_a_file(tmp_path, given), save=tmp_path / "b.ks"))


@pytest.mark.parametrize("drift", [(), ("--drift", "page-hinkley:threshold=2", "--on-drift", "forget:60")])
@pytest.mark.parametrize("delay", [0, 50])
def test_a_run_goes_on_wherever_it_stopped(server, stream, tmp_path, delay, drift):
    given = rows(400)
    url, part = f"{server.url(stream)}?until=now", tmp_path / "part.ks"
    for end in (130, 131, 400):
        start = {130: 0, 131: 130, 400: 131}[end]
        server.fill(stream, as_json(given[start:end], NAMES))
        kept = ("--checkpoint", part, "--every", "13", "--resume", "--delay", delay, "--block-rows", "20", *drift)
        answer = call("run", url, *OPTIONS, *kept)
        assert answer.exit_code == 0, answer.output
        assert Learner.load_with_header(part)[1]["run"]["rows"] == end
    whole = model_of(in_a_file(tmp_path, given), "--delay", delay, *drift, save=tmp_path / "b.ks")
    assert (whole.n_seen < 400) == bool(drift)
    last = call("run", url, *OPTIONS, *kept, "--save", tmp_path / "a.ks")
    assert last.exit_code == 0, last.output
    same(Learner.load(tmp_path / "a.ks"), whole)


@pytest.mark.parametrize("drop", ["first", "one"])
def test_a_run_whose_messages_are_gone_is_refused(server, stream, tmp_path, drop):
    if not hasattr(server, "drop"):
        pytest.skip("this server cannot be told to drop messages")
    url, part = f"{server.url(stream)}?until=now", tmp_path / "part.ks"
    server.fill(stream, as_json(rows(100), NAMES))
    kept = ("--checkpoint", part, "--every", "10", "--resume", "--block-rows", "64")
    assert call("run", url, *OPTIONS, *kept).exit_code == 0
    if drop == "first":
        server.drop_first(stream, 99)
    else:
        server.drop(stream, 80)
    answer = call("run", url, *OPTIONS, *kept)
    assert answer.exit_code == 2
    assert "no longer has all messages" in answer.stderr and "begin anew" in answer.stderr


def arrow_messages(given, each):
    import pyarrow as pa

    for start in range(0, len(given), each):
        columns = list(zip(*given[start : start + each], strict=True))
        batch = pa.record_batch([pa.array(column) for column in columns], names=["a", "b", "label"])
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield sink.getvalue()


def test_json_csv_and_arrow_are_the_same_rows(server, stream):
    given = [(a or 0.5, b, label) for a, b, _, label in rows(90)]
    lines = [f"{a},{b},{label}\n".encode() for a, b, label in given]
    spread = [json.dumps(dict(zip("abc", row, strict=True)), indent=1).encode() for row in given]
    payloads = {
        "jsonl": spread,
        "csv": [b"".join(lines[at : at + 4]) for at in range(0, 90, 4)],
        "arrow": list(arrow_messages(given, 7)),
    }
    for form, messages in payloads.items():
        name = f"{stream}{form}"
        url = server.url(name)
        server.fill(name, messages)
        blocks = list(open_source(f"{url}?until=now", format=form, block_rows=10))
        assert np.array_equal(np.vstack([X for X, _ in blocks]), np.array([row[:2] for row in given]))
        assert np.concatenate([y for _, y in blocks]).tolist() == [row[2] for row in given]


def test_a_message_that_cannot_be_read_is_named_or_left_out(server, stream):
    given = as_json([row[1:2] + row[3:] for row in rows(30)], ("b", "label"))
    url = f"{server.url(stream)}?until=now"
    server.fill(stream, [*given[:20], b'{"b": 1, "label"', *given[20:]])
    with pytest.raises(ValueError, match=r"message \S+: this is no JSON object"):
        list(open_source(url))
    source = open_source(url, on_error="skip")
    assert sum(len(y) for _, y in source) == 30
    assert source.skipped == 1 and "1 row could not be read" in source.notices[0]


def test_predictions_are_sent(server, stream, tmp_path):
    given = rows(200)
    data, said = in_a_file(tmp_path, given), f"{stream}said"
    url = server.url(said)
    answer = call("run", data, *OPTIONS, "--predictions", url, "--save", tmp_path / "a.ks", "--json", "-")
    assert answer.exit_code == 0, answer.output
    sent = [json.loads(text) for text in server.read(said)]
    assert [one["row"] for one in sent] == list(range(200))
    wrong = np.mean([one["prediction"] != row[3] for one, row in zip(sent, given, strict=True)])
    assert wrong == json.loads(answer.stdout)["mistake_rate"]

    again = f"{stream}again"
    reading = ("--missing", "mean", "--scores")
    answer = call("predict", tmp_path / "a.ks", data, *reading, "--out", server.url(again))
    assert answer.exit_code == 0, answer.output
    assert call("predict", tmp_path / "a.ks", data, *reading, "--out", tmp_path / "out.csv").exit_code == 0
    written = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [f"{one['prediction']},{one['score']}" for one in map(json.loads, server.read(again))] == written


def test_what_cannot_be_is_refused(server, stream, tmp_path):
    url = server.url(stream)
    server.fill(stream, as_json(rows(100), NAMES))
    closed = f"{url.partition('://')[0]}://127.0.0.1:1/{stream}"
    for arguments, words in (
        ((url, "--predictions", url), "would never end"),
        ((url, "--predictions", tmp_path / "a.csv"), "no stream of a server"),
        ((f"{url}?from=here",), "until=now"),
        ((f"{server.address}/",), "names no stream"),
        ((url, "--format", "npz"), "format of messages"),
        ((url, "--survey"), "passes once"),
        ((closed,), "does not answer"),
    ):
        answer = call("run", *arguments)
        assert answer.exit_code == 2 and words in answer.stderr, answer.output


def test_an_endless_run_ends_with_ctrl_c_and_goes_on(server, stream, tmp_path):
    given = rows(200)
    url, part = server.url(stream), tmp_path / "part.ks"
    server.fill(stream, as_json(given[:150], NAMES))
    command = [sys.executable, "-m", "kernelstream", "run", url, *OPTIONS, "--checkpoint", part, "--every", "150"]
    with subprocess.Popen([str(word) for word in command], env=ENVIRONMENT, stdout=subprocess.DEVNULL) as running:
        while not part.exists():
            assert running.poll() is None
            time.sleep(0.02)
        server.fill(stream, as_json(given[150:170], NAMES))
        time.sleep(1.5)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
    assert Learner.load_with_header(part)[1]["run"]["rows"] == 170
    server.fill(stream, as_json(given[170:], NAMES))
    answer = call("run", f"{url}?until=now", *OPTIONS, "--checkpoint", part, "--every", "150", "--resume")
    assert answer.exit_code == 0, answer.output
    same(Learner.load(part), model_of(in_a_file(tmp_path, given), save=tmp_path / "b.ks"))


def test_a_password_is_not_shown():
    assert shown("redis://me:secret@host:7/2/s?until=now") == "redis://host:7/2/s"
    with pytest.raises(ValueError, match="names no stream") as refused:
        open_source("redis://me:secret@host")
    assert "secret" not in str(refused.value)


def test_an_entry_of_redis_with_several_fields_is_a_row(tmp_path):
    given = [(a or 0.5, b, colour, label) for a, b, colour, label in rows(80)]
    with redis_streams(tmp_path) as server:
        server.fill("s", [dict(zip(NAMES, row, strict=True)) for row in given])
        found = model_of(f"{server.url('s')}?until=now", save=tmp_path / "a.ks")
        same(found, model_of(in_a_file(tmp_path, given), save=tmp_path / "b.ks"))
        with pytest.raises(ValueError, match="several fields"):
            list(open_source(f"{server.url('s')}?until=now", format="csv"))


def test_what_mqtt_sends_is_learned_and_what_it_sent_meanwhile_is_not(tmp_path):
    given, part = rows(300), tmp_path / "part.ks"
    with mosquitto(tmp_path) as server:
        url = f"{server.address}/plant/engine"
        command = [sys.executable, "-m", "kernelstream", "run", url, *OPTIONS, "--checkpoint", part, "--every", "100"]
        for some, end in ((given[:100], 100), (given[200:], 200)):
            with subprocess.Popen(
                [*map(str, command), "--resume"], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            ) as running:
                while server.listeners() < end // 100:
                    assert running.poll() is None, running.stderr.read().decode()
                    time.sleep(0.02)
                server.fill("plant/engine", as_json(some, NAMES))
                for _ in range(600):
                    if part.exists() and Learner.load_with_header(part)[1]["run"]["rows"] == end:
                        break
                    time.sleep(0.05)
                running.send_signal(signal.SIGINT)
                told = running.stderr.read().decode()
                assert running.wait(30) == 130, told
            server.fill("plant/engine", as_json(given[100:200], NAMES)[: 100 if end == 100 else 0])
        assert "keeps no messages" in told
        same(Learner.load(part), model_of(in_a_file(tmp_path, given[:100] + given[200:]), save=tmp_path / "b.ks"))
        for again in (("--delay", "3"), ("--drift", "adwin", "--on-drift", "forget")):
            refused = call("run", url, *OPTIONS, "--checkpoint", part, "--resume", *again)
            assert refused.exit_code == 2 and "keeps no messages" in refused.stderr
        answer = call("run", in_a_file(tmp_path, given), *OPTIONS, "--predictions", f"{server.address}/said")
        assert answer.exit_code == 0, answer.output
