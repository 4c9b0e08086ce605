"""``kernelstream compare``: several learners over the same stream, which is read once."""

from .job import Job
from .options import takes
from .output import finish
from .request import CompareRequest


@takes(CompareRequest)
def compare(request: CompareRequest) -> None:
    """Run several learners over one reading of the data.

    The table has the best first. Estimators of scikit-learn that have partial_fit and models of River, with their
    defaults, are taken too; they learn row by row. The first rows decide the task, as for `run`.
    """
    request.check()
    job = Job(request)
    finish(request, job.repeat() if request.repeated else job.stream())
