"""A job: how it moves, and when it is over."""

from datetime import UTC, datetime

from unsay_core.jobs.job import MOST_PROBLEMS, Job, JobKind, JobProblem, JobState

AT = datetime(2026, 5, 1, tzinfo=UTC)
BEGUN = Job("job_1", JobKind.EXPORT, JobState.RUNNING, "key_1", AT, epoch=0)


def test_a_step_makes_the_next_revision():
    further = BEGUN.moved(done=3, progress={"after": "x"})
    assert (further.revision, further.done, further.is_over) == (2, 3, False)
    assert BEGUN.revision == 1


def test_it_is_complete_without_a_problem_and_failed_with_one():
    assert BEGUN.ended(AT).state is JobState.COMPLETE
    failed = BEGUN.ended(AT, JobProblem(4, "conflict"))
    assert (failed.state, failed.problems, failed.finished_at) == (
        JobState.FAILED,
        (JobProblem(4, "conflict"),),
        AT,
    )
    assert failed.is_over


def test_it_keeps_a_hundred_problems_and_the_last_word_first():
    many = tuple(JobProblem(n, "tombstoned") for n in range(MOST_PROBLEMS + 5))
    stuck = BEGUN.moved(problems=many)
    assert len(stuck.problems) == MOST_PROBLEMS
    assert stuck.ended(AT, JobProblem(0, "erased_meanwhile")).problems[0].code == "erased_meanwhile"
