"""Buckets made through CloudFormation: Object Lock as AWS enforces it, and what deleting a stack leaves."""

import io
import itertools
import json
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError

from local.snapshots import Snapshots
from tests.local.conftest import until

NUMBERS = itertools.count()


def bucket(mode="GOVERNANCE", *, retained=False, **properties):
    rule = {"DefaultRetention": {"Mode": mode, "Days": 1}}
    locked = {
        "VersioningConfiguration": {"Status": "Enabled"},
        "ObjectLockEnabled": True,
        "ObjectLockConfiguration": {"ObjectLockEnabled": "Enabled", "Rule": rule},
    }
    kept = {"DeletionPolicy": "Retain"} if retained else {}
    return {"Type": "AWS::S3::Bucket", "Properties": locked | properties, **kept}


def plain():
    return {"Type": "AWS::S3::Bucket"}


class Stack:
    """A stack of buckets."""

    def __init__(self, cloud, resources):
        self.name = f"buckets-{next(NUMBERS)}"
        self.cloudformation = cloud.client("cloudformation")
        self.send("create_stack", resources)

    def send(self, verb, resources):
        outputs = {name: {"Value": {"Ref": name}} for name in resources}
        body = json.dumps({"Resources": resources, "Outputs": outputs})
        getattr(self.cloudformation, verb)(StackName=self.name, TemplateBody=body)

    def ended(self):
        return until(lambda: None if self._status().endswith("_IN_PROGRESS") else self._status())

    def _status(self):
        stacks = self.cloudformation.list_stacks()["StackSummaries"]
        return next(each["StackStatus"] for each in stacks if each["StackName"] == self.name)

    def bucket(self, name="B"):
        (stack,) = self.cloudformation.describe_stacks(StackName=self.name)["Stacks"]
        return next(each["OutputValue"] for each in stack["Outputs"] if each["OutputKey"] == name)

    def delete(self):
        self.cloudformation.delete_stack(StackName=self.name)
        return self.ended()


def made(cloud, **resources):
    stack = Stack(cloud, resources)
    assert stack.ended() == "CREATE_COMPLETE"
    return stack


def put(s3, name, key="k", **more):
    return s3.put_object(Bucket=name, Key=key, Body=io.BytesIO(b"x"), **more)["VersionId"]


def refused(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response["Error"]["Code"]


class TestLock:
    def test_a_template_turns_it_on_with_versions_and_the_default(self, cloud):
        name, s3 = made(cloud, B=bucket("COMPLIANCE")).bucket(), cloud.client("s3")
        assert s3.get_bucket_versioning(Bucket=name)["Status"] == "Enabled"
        found = s3.get_object_lock_configuration(Bucket=name)["ObjectLockConfiguration"]
        assert found["Rule"] == {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}

    def test_a_put_is_locked_for_the_default_time(self, cloud):
        name, s3 = made(cloud, B=bucket()).bucket(), cloud.client("s3")
        version = put(s3, name)
        found = s3.get_object_retention(Bucket=name, Key="k", VersionId=version)["Retention"]
        assert found["Mode"] == "GOVERNANCE"
        left = found["RetainUntilDate"] - datetime.now(UTC)
        assert timedelta(hours=23) < left <= timedelta(days=1)

    def test_a_bucket_without_it_locks_nothing(self, cloud):
        name, s3 = made(cloud, B=plain()).bucket(), cloud.client("s3")
        s3.put_object(Bucket=name, Key="k", Body=b"x")
        assert (
            refused(s3.get_object_lock_configuration, Bucket=name) == "ObjectLockConfigurationNotFoundError"
        )
        s3.delete_object(Bucket=name, Key="k")
        assert refused(s3.get_object, Bucket=name, Key="k") == "NoSuchKey"

    @pytest.mark.parametrize("mode", ["GOVERNANCE", "COMPLIANCE"])
    def test_a_locked_version_is_not_deleted_and_not_unlocked(self, cloud, mode):
        name, s3 = made(cloud, B=bucket(mode)).bucket(), cloud.client("s3")
        where = {"Bucket": name, "Key": "k", "VersionId": put(s3, name)}
        assert refused(s3.delete_object, **where) == "AccessDenied"
        named = {"Objects": [{"Key": "k", "VersionId": where["VersionId"]}]}
        (error,) = s3.delete_objects(Bucket=name, Delete=named)["Errors"]
        assert error["Code"] == "AccessDenied"
        sooner = {"Mode": "GOVERNANCE", "RetainUntilDate": datetime.now(UTC) + timedelta(minutes=1)}
        assert refused(s3.put_object_retention, **where, Retention=sooner) == "AccessDenied"
        assert s3.get_object(**where)["Body"].read() == b"x"

    def test_a_delete_without_a_version_only_hides_it(self, cloud):
        name, s3 = made(cloud, B=bucket()).bucket(), cloud.client("s3")
        version = put(s3, name)
        assert s3.delete_object(Bucket=name, Key="k")["DeleteMarker"] is True
        assert s3.get_object(Bucket=name, Key="k", VersionId=version)["Body"].read() == b"x"

    def test_governance_yields_to_who_has_the_permission_and_says_so(self, cloud):
        name, s3 = made(cloud, B=bucket()).bucket(), cloud.client("s3")
        where = {"Bucket": name, "Key": "k", "VersionId": put(s3, name)}
        delete = {"Effect": "Allow", "Action": ["s3:DeleteObject", "s3:DeleteObjectVersion"], "Resource": "*"}
        bypass = {"Effect": "Allow", "Action": "s3:BypassGovernanceRetention", "Resource": "*"}
        without = cloud.client("s3", cloud.assume(cloud.role(f"without-{name}"[:60], delete)))
        having = cloud.client("s3", cloud.assume(cloud.role(f"having-{name}"[:60], delete, bypass)))
        assert refused(without.delete_object, **where, BypassGovernanceRetention=True) == "AccessDenied"
        assert refused(having.delete_object, **where) == "AccessDenied"
        having.delete_object(**where, BypassGovernanceRetention=True)
        assert refused(s3.get_object, **where) == "NoSuchVersion"

    def test_compliance_yields_to_nobody(self, cloud):
        name, s3 = made(cloud, B=bucket("COMPLIANCE")).bucket(), cloud.client("s3")
        where = {"Bucket": name, "Key": "k", "VersionId": put(s3, name)}
        assert refused(s3.delete_object, **where, BypassGovernanceRetention=True) == "AccessDenied"

    def test_an_update_changes_the_default_and_never_turns_it_off(self, cloud):
        stack, s3 = made(cloud, B=bucket()), cloud.client("s3")
        name = stack.bucket()
        stack.send("update_stack", {"B": bucket("COMPLIANCE")})
        assert stack.ended() == "UPDATE_COMPLETE"
        assert stack.bucket() == name
        version = put(s3, name)
        found = s3.get_object_retention(Bucket=name, Key="k", VersionId=version)["Retention"]
        assert found["Mode"] == "COMPLIANCE"
        stack.send("update_stack", {"B": plain()})
        assert stack.ended() == "UPDATE_ROLLBACK_COMPLETE"

    @pytest.mark.parametrize(
        "wrong",
        [
            {"ObjectLockEnabled": False},
            {"VersioningConfiguration": {"Status": "Suspended"}},
            {"ObjectLockConfiguration": {"Rule": {"DefaultRetention": {"Mode": "FOREVER", "Days": 1}}}},
        ],
    )
    def test_a_template_that_makes_no_sense_is_rolled_back(self, cloud, wrong):
        assert Stack(cloud, {"B": bucket(**wrong)}).ended() == "ROLLBACK_COMPLETE"


class TestDelete:
    def test_a_stack_whose_bucket_is_empty_is_deleted(self, cloud):
        stack = made(cloud, B=bucket(), P=plain())
        name = stack.bucket()
        assert stack.delete() == "DELETE_COMPLETE"
        assert refused(cloud.client("s3").head_bucket, Bucket=name) in ("404", "NoSuchBucket")

    @pytest.mark.parametrize("resource", [plain(), bucket()])
    def test_a_stack_whose_bucket_holds_something_is_not(self, cloud, resource):
        stack, s3 = made(cloud, B=resource), cloud.client("s3")
        s3.put_object(Bucket=stack.bucket(), Key="k", Body=b"x")
        assert stack.delete() == "DELETE_FAILED"
        assert s3.get_object(Bucket=stack.bucket(), Key="k")["Body"].read() == b"x"

    def test_a_version_nobody_sees_any_more_counts(self, cloud):
        stack, s3 = made(cloud, B=bucket()), cloud.client("s3")
        put(s3, stack.bucket())
        s3.delete_object(Bucket=stack.bucket(), Key="k")
        assert stack.delete() == "DELETE_FAILED"

    def test_a_retained_bucket_stays_with_what_it_holds(self, cloud):
        stack, s3 = made(cloud, B=bucket(retained=True)), cloud.client("s3")
        name = stack.bucket()
        version = put(s3, name)
        assert stack.delete() == "DELETE_COMPLETE"
        assert refused(s3.delete_object, Bucket=name, Key="k", VersionId=version) == "AccessDenied"


def lock_on_disk(cloud, version):
    saved = Snapshots(cloud.place.state / "cloud").read("object_locks")
    return bool(saved) and version in json.dumps(saved)


def test_a_lock_outlives_a_restart(new_cloud):
    cloud = new_cloud()
    cloud.start()
    name, s3 = made(cloud, B=bucket()).bucket(), cloud.client("s3")
    where = {"Bucket": name, "Key": "k", "VersionId": put(s3, name)}
    kept = s3.get_object_retention(**where)["Retention"]
    until(lambda: lock_on_disk(cloud, where["VersionId"]), 10)
    cloud.stop(9)
    cloud.start()
    assert s3.get_object_retention(**where)["Retention"] == kept
    assert refused(s3.delete_object, **where) == "AccessDenied"
    second = put(s3, name, "later")
    assert (
        s3.get_object_retention(Bucket=name, Key="later", VersionId=second)["Retention"]["Mode"]
        == "GOVERNANCE"
    )
