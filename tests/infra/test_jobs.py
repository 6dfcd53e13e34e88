"""Work that outlasts a request: what wakes the jobs and the sweep functions, and what each may ask."""

from __future__ import annotations

from tests.infra.conftest import listed


def test_a_job_comes_through_a_queue_one_at_a_time_and_five_at_once(dev):
    mapping = dev.one("AWS::Lambda::EventSourceMapping", "FunctionsJobs")
    queue = dev.logical_id("JobsQueue", "AWS::SQS::Queue")
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": [queue, "Arn"]}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert (mapping["BatchSize"], mapping["ScalingConfig"]) == (1, {"MaximumConcurrency": 5})
    dead = dev.logical_id("JobsDeadLetters", "AWS::SQS::Queue")
    assert dev.resources[queue]["Properties"]["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": [dead, "Arn"]},
        "maxReceiveCount": 1000,
    }


def test_a_call_stays_hidden_for_more_than_six_times_what_the_function_may_take(dev):
    queue = dev.one("AWS::SQS::Queue", "JobsQueue")
    assert queue["VisibilityTimeout"] > 6 * dev.one("AWS::Lambda::Function", "FunctionsJobs")["Timeout"]


def test_the_clock_calls_the_sweep_every_minute_under_a_role_that_does_nothing_else(dev):
    schedule = dev.one("AWS::Scheduler::Schedule")
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    sweep = {"Fn::GetAtt": [dev.logical_id("FunctionsSweep", "AWS::Lambda::Function"), "Arn"]}
    assert schedule["Target"]["Arn"] == sweep
    (statement,) = dev.statements("JobsSweepCaller")
    assert (statement["Action"], statement["Resource"]) == ("lambda:InvokeFunction", sweep)


def test_the_sweep_asks_the_index_of_what_is_due_and_no_table(dev):
    statements = dev.statements("FunctionsSweepRole")
    on_tables = {
        each["Sid"]: each for each in statements if listed(each["Action"])[0].startswith("dynamodb:")
    }
    assert {*on_tables} == {"AskWhatIsDue", "KnowTables", "TableMarks"}, "and the mark within each table"
    statement = on_tables["AskWhatIsDue"]
    assert statement["Action"] == "dynamodb:Query"
    table = dev.logical_id("TablesLedger", "AWS::DynamoDB::Table")
    assert statement["Resource"] == {"Fn::Join": ["", [{"Fn::GetAtt": [table, "Arn"]}, "/index/due"]]}
    assert statement["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["due#*", "erasure#*", "candidate#*"]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }


def test_a_table_can_be_restored_for_as_long_as_receipts_say(dev):
    days = dev.one("AWS::Lambda::Function", "FunctionsJobs")["Environment"]["Variables"][
        "UNSAY_RECOVERY_DAYS"
    ]
    for table in dev.of_type("AWS::DynamoDB::Table").values():
        recovery = table["Properties"]["PointInTimeRecoverySpecification"]
        assert recovery == {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": int(days)}
