"""The service against its own description: what schemathesis makes of /openapi.json is answered as it says."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from .service_process import FOGD, Process


def conforms(folder: Path, examples: int, *, seed: int) -> tuple[str, list[str]]:
    """Ask each operation so many times; what was done, and what is wrong."""
    import schemathesis

    faults: list[str] = []
    statuses: Counter[int] = Counter()
    with Process(folder, log_level="error", read_seconds=5.0, most_models=5) as service:
        service.wait_ready()
        schema = schemathesis.openapi.from_dict(service.ask("GET", "/openapi.json").json())
        operations = [found.ok() for found in schema.get_all_operations()]
        operations = [operation for operation in operations if operation.path != "/v2/events"]  # it has no end
        for operation in operations:
            if fault := _fault(operation, service, examples, seed, statuses):
                faults.append(f"{operation.label}: {fault}")
            if service.process.poll() is not None:
                faults.append(f"{operation.label}: the process ended")
                break
    told = ", ".join(f"{count:,} x {status}" for status, count in sorted(statuses.items()))
    return f"{len(operations)} operations: {told}", faults


def _fault(operation: Any, service: Process, examples: int, seed: int, statuses: Counter[int]) -> str | None:
    """The first answer of an operation that is not as described."""
    import hypothesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    wrong: list[str] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy())
    def law(case: Any) -> None:
        _prepare(service, case)
        reply = case.call(base_url=f"http://127.0.0.1:{service.port}", timeout=60)
        statuses[reply.status_code] += 1
        try:
            case.validate_response(reply, checks=checks)
        except Exception as error:
            wrong.append(f"{case.method} {case.formatted_path}: {reply.status_code} {error}"[:1500])
            raise

    try:
        law()
    except Exception as error:
        return (wrong or [repr(error)])[0]
    return None


def _prepare(service: Process, case: Any) -> None:
    """Half of the requests are for a model, and a snapshot, that are there."""
    given = case.path_parameters or {}
    if "name" in given and len(str(given["name"])) % 2 == 0:
        given["name"] = "m"
        if case.method != "DELETE" or "kept" in given:
            service.ask("PUT", "/v2/models/m", json.dumps(FOGD).encode())
        if "kept" in given and len(str(given["kept"])) % 2 == 0:
            service.learn([[0.5, 1.0]], [1])
            given["kept"] = "s"
            service.ask("POST", "/v2/models/m/snapshots", {"name": "s"})
