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


def test_each_operation_is_described_with_the_statuses_that_it_has(tmp_path):
    from kernelstream.serve.app import make_app
    from kernelstream.serve.settings import Settings

    guard, state = make_app(Settings(store=str(tmp_path / "store")))
    state.service.stop()
    paths = guard._app.openapi()["paths"]
    told = {(method, path): set(one["responses"]) for path, some in paths.items() for method, one in some.items()}
    for (method, path), statuses in told.items():
        of_rows = path.endswith(("/learn", "/predict", "/labels"))
        assert ("429" in statuses) == of_rows
        assert ("403" in statuses) == (method != "get") and {"421", "503"} <= statuses
        assert ({"404", "405"} <= statuses) == ("{name}" in path)
        assert ("415" in statuses) == ("requestBody" in paths[path][method])
        assert "307" not in statuses and ("401" in statuses) == (
            path not in ("/v2", "/v2/health/live", "/v2/health/ready")
        )
