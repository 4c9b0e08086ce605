"""Data sets by name: the registry says what the files hold; files are found, fetched, resumed, checked."""

import hashlib
import http.server
import lzma
import shutil
import socketserver
import threading

import numpy as np
import pytest

from kernelstream.sources import datasets, open_source
from kernelstream.sources.datasets import DATASETS, Dataset, Split, at_hand, fetch, find, open_dataset

CONTENT = b"1 1:0.5 3:2\n-1 2:7\n" * 50_000
PACKED = lzma.compress(CONTENT, preset=0) + lzma.compress(bytes(0)) * 4000  # big enough to be cut into pieces
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILE = "tiny.train.libsvm.xz"


class Site(http.server.BaseHTTPRequestHandler):
    """Serves PACKED, and breaks the connection where `breaks` says."""

    breaks: list[int]
    asked: list[str | None]
    ranges = True

    def do_GET(self):
        self.asked.append(self.headers["Range"])
        if self.path != f"/{FILE}":
            self.send_error(404)
            return
        start = int(self.headers["Range"][6:-1]) if self.headers["Range"] and self.ranges else 0
        if start >= len(PACKED):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(PACKED) - start))
        self.end_headers()
        self.wfile.write(PACKED[start : self.breaks.pop(0) if self.breaks else None])

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    """The address of a server, and its handler class to set up."""
    handler = type("OneSite", (Site,), {"breaks": [], "asked": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """An empty mirror and an empty cache, and no proxy between the tests and their server."""
    monkeypatch.setenv("KERNELSTREAM_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("KERNELSTREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "mirror", tmp_path / "cache" / "kernelstream" / "data"


def register(monkeypatch, url, sha256=SHA256):
    split = Split(FILE, sha256, rows=100_000, url=url)
    monkeypatch.setitem(DATASETS, "tiny", Dataset("binary", "nowhere", "", 3, 2, {"train": split}))


def test_the_mirror_comes_before_the_cache(places, monkeypatch):
    register(monkeypatch, None)
    assert find("tiny", "train") is None
    for directory, where in zip(reversed(places), ("cache", "mirror"), strict=True):
        (directory / "tiny").mkdir(parents=True)
        (directory / "tiny" / FILE).write_bytes(PACKED)
        assert find("tiny", "train") == fetch("tiny", "train") == directory / "tiny" / FILE
        (row,) = [row for row in at_hand() if row["name"] == "tiny"]
        assert row == {"name": "tiny", "split": "train", "task": "binary", "rows": 100_000, "features": 3,
                       "classes": 2, "where": where}  # fmt: skip


def test_a_download_is_checked_and_kept(site, places, monkeypatch):
    address, handler = site
    register(monkeypatch, f"{address}/{FILE}")
    seen = []
    path = fetch("tiny", "train", on_progress=lambda done, total: seen.append((done, total)))
    assert path == places[1] / "tiny" / FILE and path.read_bytes() == PACKED
    assert [file.name for file in path.parent.iterdir()] == [FILE]
    assert seen == sorted(seen) and seen[-1] == (len(PACKED), len(PACKED))
    assert fetch("tiny", "train") == path and handler.asked == [None]
    assert sum(len(y) for _, y in open_source("tiny")) == 100_000


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_download_goes_on_where_it_broke(site, places, monkeypatch, ranges):
    address, handler = site
    handler.breaks, handler.ranges = [50_000, 90_000], ranges
    register(monkeypatch, f"{address}/{FILE}")
    assert fetch("tiny", "train").read_bytes() == PACKED
    assert handler.asked == [None, "bytes=50000-", "bytes=90000-"]


def test_a_later_call_goes_on_with_what_is_there(site, places, monkeypatch):
    address, handler = site
    register(monkeypatch, f"{address}/{FILE}")
    part = places[1] / "tiny" / f"{FILE}.part"
    for have in (1234, len(PACKED)):
        shutil.rmtree(part.parent, ignore_errors=True)
        part.parent.mkdir(parents=True)
        part.write_bytes(PACKED[:have])
        assert fetch("tiny", "train").read_bytes() == PACKED
        assert handler.asked.pop() == f"bytes={have}-" and not part.exists()


def test_other_content_is_deleted_and_both_checksums_are_named(site, places, monkeypatch):
    address, _ = site
    register(monkeypatch, f"{address}/{FILE}", sha256="0" * 64)
    with pytest.raises(ValueError, match=f"{'0' * 64} expected, {SHA256} got") as caught:
        fetch("tiny", "train")
    assert f"{address}/{FILE}" in str(caught.value)
    assert list((places[1] / "tiny").iterdir()) == []


def test_damage_counts_as_other_content(site, places, monkeypatch):
    address, _ = site
    register(monkeypatch, f"{address}/{FILE}")
    part = places[1] / "tiny" / f"{FILE}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"another file")
    with pytest.raises(ValueError, match="expected, none, it is damaged"):
        fetch("tiny", "train")
    assert fetch("tiny", "train").read_bytes() == PACKED


def test_without_a_network_the_error_names_the_address_and_the_way_by_hand(site, places, monkeypatch):
    address, _ = site
    for url, reason in ((f"{address}/gone.xz", "404"), ("http://127.0.0.1:9/x.xz", "refused")):
        register(monkeypatch, url)
        with pytest.raises(ConnectionError, match=reason) as caught:
            fetch("tiny", "train")
        assert url in str(caught.value)
        assert f"put {FILE} into {places[1] / 'tiny'}" in str(caught.value)
        assert "KERNELSTREAM_DATA" in str(caught.value)


def test_an_answer_that_is_not_http_is_an_error_of_the_connection(monkeypatch):
    class Stranger(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(4096)
            self.request.sendall(b"who is there?\r\n")

    with socketserver.TCPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        register(monkeypatch, f"http://127.0.0.1:{server.server_address[1]}/{FILE}")
        with pytest.raises(ConnectionError, match="the answer is not HTTP"):
            fetch("tiny", "train")
        thread.join()


def test_a_data_set_without_an_address_says_where_it_comes_from(places):
    with pytest.raises(FileNotFoundError, match=r"a9a/test is not at hand.*www\.csie\.ntu\.edu\.tw.*a9a\.test\.libsvm"):
        open_source("a9a/test")


def test_names_are_checked(tmp_path):
    with pytest.raises(ValueError, match="no data set 'a9b'; there are a9a, "):
        find("a9b", "train")
    with pytest.raises(ValueError, match="a9a has no file 'x'; it has train, test"):
        find("a9a", "x")
    with pytest.raises(ValueError, match="a9a has no split 'x'; it has train, test"):
        open_source("a9a/train+x")
    with pytest.raises(ValueError, match="brodatz has no rows to stream; its files are images"):
        open_dataset("brodatz")


def test_a_file_of_that_name_comes_before_the_data_set(tmp_path, monkeypatch):
    (tmp_path / "a9a").mkdir()
    (tmp_path / "a9a" / "mine.libsvm").write_bytes(b"1 1:1\n")
    monkeypatch.chdir(tmp_path)
    assert [len(y) for _, y in open_source("a9a")] == [1]


# On the real files


@pytest.fixture
def mirror(data_directory, places, monkeypatch):
    monkeypatch.setenv("KERNELSTREAM_DATA", str(data_directory))


def test_verify_compares_the_content_with_the_registry(mirror, places, monkeypatch):
    names = ["abalone", "dna", "german", "housing", "mg", "spambase"]
    for name in names:
        dataset = DATASETS[name]
        for split in dataset.splits | dataset.extras:
            assert fetch(name, split, verify=True) == find(name, split)
    wrong = Split("abalone.scaled.libsvm.xz", DATASETS["mg"].splits["fogd01"].sha256)
    monkeypatch.setitem(DATASETS, "abalone", Dataset("regression", "", "", splits={"scaled": wrong}))
    with pytest.raises(ValueError, match=f"abalone.* has SHA-256 .* instead of {wrong.sha256}; replace it"):
        fetch("abalone", "scaled", verify=True)


@pytest.mark.parametrize("name", ["a9a", "dna", "german", "housing", "satimage", "w8a"])
def test_the_registry_says_what_the_files_hold(mirror, name):
    dataset = DATASETS[name]
    at_hand = {split: file for split, file in dataset.splits.items() if file.sha256 is not None}
    assert at_hand
    for split, file in at_hand.items():
        blocks = list(open_source(f"{name}/{split}"))
        labels = np.concatenate([y for _, y in blocks])
        assert len(labels) == file.rows and blocks[-1][0].shape[1] <= dataset.n_features
        if dataset.n_classes is not None:
            assert len(np.unique(labels)) == dataset.n_classes


def test_splits_can_be_chained_and_the_first_is_meant_when_none_is_named(mirror):
    assert open_source("cod-rna").path.name == "cod-rna.train.libsvm.xz"
    source = open_source("dna/train+test", block_rows=1500)
    assert (source.name, [len(y) for _, y in source]) == ("dna/train+test", [1500, 500, 1186])
    assert all(row["where"] == "mirror" for row in at_hand() if row["name"] in ("dna", "cod-rna"))


def test_every_entry_is_complete():
    for name, dataset in DATASETS.items():
        assert dataset.task in ("binary", "multiclass", "regression", "images") and dataset.origin and dataset.note
        for file in (dataset.splits | dataset.extras).values():
            assert file.file.startswith(name) and (file.url is None or file.sha256 is not None)
            assert all(len(bytes.fromhex(one)) == 32 for one in (file.sha256, file.rows_sha256) if one is not None)
        for file in dataset.splits.values():
            assert file.rows > 0 and dataset.n_features > 0
            assert (file.sha256 is None) == (file.rows_sha256 is None), name
            labels = file.labels or dataset.labels
            assert labels is None or (len(labels) == dataset.n_classes and list(labels) == sorted(labels))
            assert labels is not None or dataset.task == "regression" or name == "kddcup99"
    assert datasets.cache_directory().name == "data"


def test_every_data_set_of_the_papers_is_registered_with_its_shape():
    shapes = {
        "ijcnn1": (141_691, 22), "w7a": (49_749, 300), "w8a": (64_700, 300), "usps": (9298, 256),
        "letter": (20_000, 16),
        "magic04": (19_020, 10), "cadata": (20_640, 8), "casp": (45_730, 9), "acoustic": (98_528, 50),
        "kddcup08": (102_294, 117), "slice": (53_500, 385), "airlines": (5_929_413, 8), "poker": (1_025_010, 10),
        "kddcup99-lsokl": (1_131_571, 127), "kddcup99-full": (4_898_431, 41),
    }  # fmt: skip
    for name, (rows, width) in shapes.items():
        found = DATASETS[name]
        assert (sum(file.rows for file in found.splits.values()), found.n_features) == (rows, width), name
    year = DATASETS["year"].splits
    assert year["train"].rows + year["test"].rows == year["all"].rows == 515_345
