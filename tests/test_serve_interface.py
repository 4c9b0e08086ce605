"""The service answers as its own description says: no other status, type or shape."""

import pytest
from benchmarks import serve_interface

pytest.importorskip("fastapi", reason="pip install 'kernelstream[serve]' brings it")
pytest.importorskip("schemathesis", reason="pip install schemathesis brings it")


@pytest.mark.filterwarnings("ignore")  # of what schemathesis imports
def test_answers_are_those_of_the_description(tmp_path):
    done, faults = serve_interface.conforms(tmp_path, 12, seed=0)
    assert not faults
    assert "22 operations" in done and "x 200" in done and "x 422" in done
