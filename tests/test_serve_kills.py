"""A service that is killed under load loses nothing that it acknowledged, and learns nothing twice."""

import gc

import pytest
from benchmarks import serve_kills

pytest.importorskip("fastapi", reason="pip install 'kernelstream[serve]' brings it")


# A connection that its server resets leaves a socket to the collector, which warns of it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("drift", [{}, {"drift": ["page-hinkley:threshold=2"], "on_drift": "forget:50"}], ids=str)
@pytest.mark.parametrize(("cut", "n"), [(False, 3), (True, 2)], ids=["log kept", "log cut"])
def test_what_was_acknowledged_is_learned_once_in_the_order_of_the_log(tmp_path, cut, n, drift):
    done, faults = serve_kills.kills(tmp_path, n, seed=0, cut=cut, most_seconds=0.6, **drift)
    gc.collect()
    assert not faults
    assert f"{n} kills" in done and " 0 requests" not in done
