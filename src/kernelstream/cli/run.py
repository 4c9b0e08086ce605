"""``kernelstream run``: one learner, one stream; also over many row orders, or judged by a test file."""

from dataclasses import replace

from .job import Job, Kept
from .options import takes
from .output import finish
from .request import RunRequest


@takes(RunRequest)
def run(request: RunRequest) -> None:
    """Stream data through one learner: predict, score, learn.

    Each row is predicted before it is learned from. With --task auto the first 4,096 rows decide: text labels mean
    classification, and so do whole numbers with at most 20 different values; everything else is regression. Classes
    that come later are added, and the result says where; --classes announces them all, --survey reads all rows first
    to know them. Ctrl-C ends with the table so far, and the model so far is saved.

    Exit codes: 0 done, 2 bad options or data (one line on stderr says what), 130 interrupted.
    """
    request = request.configured()
    request.check()
    job = Job(request)
    if request.repeated:
        outcome = job.repeat()
    elif request.test is not None:
        outcome = job.train_and_test(request.test, request.passes)
    else:
        path = request.checkpoint
        kept = None if path is None else Kept(path, request.every, request.resume, request.decisive())
        outcome = job.on_workers(kept) if request.several else job.stream(kept, predictions=request.predictions)
    job.save(request.save, outcome)
    finish(request, replace(outcome, saved=request.save))
