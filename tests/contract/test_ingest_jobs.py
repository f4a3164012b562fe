"""The queue of files that take long to read: nothing in it is lost, and one process works at a time."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from limen.brain.ingest.jobs import Job, JobQueue, JobRequest, JobRunner, Report
from limen.brain.records import DocumentId
from limen.errors import NotFound, Unreadable

REQUEST = JobRequest(
    name="big.pdf",
    origin="/in/big.pdf",
    hash="0" * 64,
    actor="tester",
    path="raw/documents/big.pdf.md",
    document_id=DocumentId("doc_1"),
)


def a_runner(queue: JobQueue, tmp_path: Path, done: list[tuple[str, bytes]], ended: Event) -> JobRunner:
    def work(job: Job, content: bytes, report: Report) -> int:
        report("reading", 1, 2)
        done.append((job.id, content))
        if not content:
            raise Unreadable("big.pdf: it is empty")
        if content == b"crash":
            raise ZeroDivisionError
        if content == b"last":
            ended.set()
        return 7

    return JobRunner(queue, tmp_path / "jobs.lock", work)


def test_a_job_is_kept_worked_on_and_reported(tmp_path: Path) -> None:
    queue, done, ended = JobQueue(tmp_path / "jobs.db"), list[tuple[str, bytes]](), Event()
    assert not queue.has_pending()
    job = queue.add(REQUEST, b"last")
    assert (job.state, job.stage, job.request) == ("queued", "waiting", REQUEST)
    runner = a_runner(queue, tmp_path, done, ended)
    runner.kick()
    assert ended.wait(4)
    runner.close()
    finished = queue.get(job.id)
    assert (finished.state, finished.chunk_count, finished.code) == ("done", 7, "")
    assert done == [(job.id, b"last")]
    assert not queue.has_pending()
    queue.close()


def test_a_file_that_cannot_be_read_fails_alone(tmp_path: Path) -> None:
    queue, done, ended = JobQueue(tmp_path / "jobs.db"), list[tuple[str, bytes]](), Event()
    bad, bug, good = (queue.add(REQUEST, content) for content in (b"", b"crash", b"last"))
    runner = a_runner(queue, tmp_path, done, ended)
    runner.kick()
    assert ended.wait(4)
    runner.close()
    assert [(queue.get(job.id).state, queue.get(job.id).code) for job in (bad, bug, good)] == [
        ("failed", "unreadable"),
        ("failed", "internal"),
        ("done", ""),
    ]
    assert [job.id for job in queue.list()] == [good.id, bug.id, bad.id]
    queue.close()


def test_an_unknown_job_is_not_found(tmp_path: Path) -> None:
    queue = JobQueue(tmp_path / "jobs.db")
    with pytest.raises(NotFound):
        queue.get("job_x")
    queue.close()


def test_what_a_killed_process_had_begun_is_done_by_the_next(tmp_path: Path) -> None:
    queue = JobQueue(tmp_path / "jobs.db")
    job = queue.add(REQUEST, b"last")
    queue.close()
    program = (
        "import sys, time, pathlib\n"
        "from limen.brain.ingest.jobs import JobQueue, JobRunner\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "def work(job, content, report):\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
        "JobRunner(JobQueue(folder / 'jobs.db'), folder / 'jobs.lock', work).kick()\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        os.kill(child.pid, signal.SIGKILL)
    queue, done, ended = JobQueue(tmp_path / "jobs.db"), list[tuple[str, bytes]](), Event()
    assert queue.get(job.id).state == "running"
    runner = a_runner(queue, tmp_path, done, ended)
    runner.kick()
    assert ended.wait(4)
    runner.close()
    assert queue.get(job.id).state == "done"
    queue.close()


def test_nobody_works_while_another_process_does(tmp_path: Path) -> None:
    queue, done, ended = JobQueue(tmp_path / "jobs.db"), list[tuple[str, bytes]](), Event()
    queue.add(REQUEST, b"last")
    with (tmp_path / "jobs.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        runner = a_runner(queue, tmp_path, done, ended)
        runner.kick()
        assert not ended.wait(0.5)
    assert ended.wait(4)
    runner.close()
    queue.close()
