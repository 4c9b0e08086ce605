"""A service whose disk is full says so, goes on predicting, and goes on by itself when there is room."""

import pytest
from benchmarks import serve_disk

pytest.importorskip("fastapi", reason="pip install 'kernelstream[serve]' brings it")
reason = serve_disk.why_not()


@pytest.mark.skipif(reason is not None, reason=str(reason))
@pytest.mark.parametrize("snapshots", [False, True], ids=["log kept", "log cut"])
def test_a_full_disk_damages_nothing(tmp_path, snapshots):
    done, faults = serve_disk.full(tmp_path, rounds=2, snapshots=snapshots)
    assert not faults
    assert " 0 x 507" not in done
