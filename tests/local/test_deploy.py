"""Deploying a `cdk.out`: what is published, what is sent, and what a failure says."""

import io
import json
import shutil
import time
import zipfile

import pytest

from local import deploy as deploying
from local import host_layer
from local.archive import zipped
from local.deploy import DeployError, deploy
from tests.local.conftest import SAMPLE_APP

BUCKET = "cdk-sample-assets-000000000000-us-east-1"


@pytest.fixture
def other_app(tmp_path):
    """A copy of the sample app as a stack of another name with one resource, to change."""
    folder = tmp_path / "cdk.out"
    shutil.copytree(SAMPLE_APP, folder)
    name = f"other-{time.monotonic_ns()}"
    manifest = (folder / "manifest.json").read_text().replace('"sample": {', f'"{name}": {{')
    (folder / "manifest.json").write_text(manifest.replace("/sample.json", f"/{name}.json"))
    assets = (folder / "sample.assets.json").read_text()
    (folder / "sample.assets.json").write_text(assets.replace('"sample.json"', f'"{name}.json"'))

    def with_resources(cloud, resources):
        (folder / "sample.template.json").write_text(json.dumps({"Resources": resources}))
        cloud.client("s3").delete_object(Bucket=BUCKET, Key=f"{name}.json")
        return folder

    return name, with_resources


def test_the_template_goes_out_byte_for_byte(cloud, app):
    sent = cloud.client("s3").get_object(Bucket=BUCKET, Key="sample.json")["Body"].read()
    assert sent == (SAMPLE_APP / "sample.template.json").read_bytes()
    held = cloud.client("cloudformation").get_template(StackName="sample")["TemplateBody"]
    assert dict(held) == json.loads(sent)


def test_a_second_deployment_uploads_nothing_and_changes_nothing(cloud, app):
    before = cloud.client("s3").head_object(Bucket=BUCKET, Key="code.zip")["LastModified"]
    said = []
    assert deploy(cloud.place, SAMPLE_APP, said.append) == app
    assert said == ["assets: 0 uploaded, 3 already there", "stack: no changes"]
    assert cloud.client("s3").head_object(Bucket=BUCKET, Key="code.zip")["LastModified"] == before


def test_only_the_third_party_layer_is_another(cloud, app):
    def names(key):
        body = cloud.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return zipfile.ZipFile(io.BytesIO(body)).namelist()

    layer = names("layer.zip")
    assert "python/jmespath/__init__.py" in layer
    assert "python/sample_dependency.py" not in layer
    assert names("code.zip") == ["handlers.py"]


def test_the_layer_of_another_python_is_not_mixed_in(cloud, app, monkeypatch):
    monkeypatch.setattr(deploying, "host_tag", lambda: "cpython-399-linux-x86_64")
    with pytest.raises(DeployError, match="cpython-399"):
        deploy(cloud.place, SAMPLE_APP)


def test_a_secret_is_its_arn_and_follows_the_rules_of_its_template(cloud, app):
    assert app["PepperArn"].startswith("arn:aws:secretsmanager:us-east-1:000000000000:secret:")
    value = cloud.client("secretsmanager").get_secret_value(SecretId=app["PepperArn"])["SecretString"]
    assert len(value) == 64
    assert value.isalnum()


def test_a_failure_says_which_resource_and_why_and_can_be_repaired(cloud, app, other_app):
    name, with_resources = other_app
    broken = {"Broken": {"Type": "AWS::Nowhere::Nothing", "Properties": {}}}
    with pytest.raises(DeployError, match="AWS::Nowhere::Nothing"):
        deploy(cloud.place, with_resources(cloud, broken))
    index = {"VectorBucketName": "absent", "IndexName": "index", "Dimension": 8}
    index |= {"DataType": "float32", "DistanceMetric": "cosine"}
    missing = {"Vectors": {"Type": "AWS::S3Vectors::Index", "Properties": index}}
    with pytest.raises(DeployError, match="Vectors"):
        deploy(cloud.place, with_resources(cloud, missing))
    deploy(cloud.place, with_resources(cloud, {"Queue": {"Type": "AWS::SQS::Queue"}}))
    status = cloud.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
    assert status == "CREATE_COMPLETE"


def test_an_update_is_applied_and_keeps_what_it_does_not_touch(cloud, app, other_app):
    name, with_resources = other_app
    secret = {"Type": "AWS::SecretsManager::Secret", "Properties": {"GenerateSecretString": {}}}
    deploy(cloud.place, with_resources(cloud, {"Secret": secret}))

    def held():
        resources = cloud.client("cloudformation").describe_stack_resources(StackName=name)["StackResources"]
        arn = next(r["PhysicalResourceId"] for r in resources if r["LogicalResourceId"] == "Secret")
        value = cloud.client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]
        return arn, value, len(resources)

    arn, value, _ = held()
    described = secret | {"Properties": {"GenerateSecretString": {}, "Description": "changed"}}
    both = {"Secret": described, "Queue": {"Type": "AWS::SQS::Queue"}}
    deploy(cloud.place, with_resources(cloud, both))
    assert held() == (arn, value, 2)


def test_new_code_and_a_new_layer_are_run_at_once(cloud, app, other_app):
    name, with_resources = other_app
    trusted = {
        "Effect": "Allow",
        "Principal": {"Service": "lambda.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    document = {"Version": "2012-10-17", "Statement": [trusted]}
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": document}}

    def version(number):
        archives = {
            "code": {"code.py": f"import layered\ndef handler(*_): return [{number}, layered.NUMBER]"},
            "layer": {"python/layered.py": f"NUMBER = {number}"},
        }
        for kind, files in archives.items():
            body = io.BytesIO()
            with zipfile.ZipFile(body, "w") as archive:
                for path, text in files.items():
                    archive.writestr(path, text)
            cloud.client("s3").put_object(Bucket=BUCKET, Key=f"{kind}-{number}.zip", Body=body.getvalue())
        layer = {"Content": {"S3Bucket": BUCKET, "S3Key": f"layer-{number}.zip"}}
        function = {
            "Handler": "code.handler",
            "Runtime": "python3.13",
            "Role": {"Fn::GetAtt": ["Role", "Arn"]},
            "Code": {"S3Bucket": BUCKET, "S3Key": f"code-{number}.zip"},
            "Layers": [{"Ref": "Layer"}],
            "FunctionName": name,
        }
        deploy(
            cloud.place,
            with_resources(
                cloud,
                {
                    "Role": role,
                    "Layer": {"Type": "AWS::Lambda::LayerVersion", "Properties": layer},
                    "Function": {"Type": "AWS::Lambda::Function", "Properties": function},
                },
            ),
        )
        return json.load(cloud.client("lambda").invoke(FunctionName=name)["Payload"])

    assert version(1) == [1, 1]
    assert version(2) == [2, 2]


def test_without_a_synthesized_app_it_says_what_to_run(cloud, tmp_path):
    with pytest.raises(DeployError, match="make synth"):
        deploy(cloud.place, tmp_path)


def test_a_zip_is_the_same_for_the_same_content(tmp_path):
    (tmp_path / "a").write_text("1")
    first = zipped(tmp_path)
    (tmp_path / "a").write_text("1")
    assert zipped(tmp_path) == first


def test_a_layer_that_cannot_be_built_says_what_uv_said():
    with pytest.raises(host_layer.LayerError, match="no-such-option"):
        host_layer._uv("export", "--no-such-option")
