"""Fixtures that every test may ask for."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Return the folder of books and fixtures that do not lie in the repository, or skip."""
    path = Path(os.environ.get("LOUDR_TEST_DATA", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"no test data at {path}; set LOUDR_TEST_DATA to run this test")
    return path


_buckets = itertools.count(1)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Return the URL of an S3 server: `LOUDR_TEST_S3` when set, else one in this process.

    The one that is named takes the key `test` with the secret `testtesttest`.
    """
    named = os.environ.get("LOUDR_TEST_S3")
    if named:
        yield named
        return
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@pytest.fixture
def s3_environment(s3_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Point the AWS chain at the S3 server, and at nothing of this machine; return its URL."""
    for variable in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    monkeypatch.delenv("LOUDR_TEST_S3", raising=False)
    for variable, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "testtesttest",
        "AWS_ENDPOINT_URL_S3": s3_server,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "no-aws-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no-aws-credentials"),
    }.items():
        monkeypatch.setenv(variable, value)
    return s3_server


@pytest.fixture
def bucket(s3_environment: str) -> str:
    """Return the name of a new bucket on the S3 server, found through the AWS chain."""
    import boto3.session

    name = f"loudr-test-{os.getpid()}-{next(_buckets)}"
    client = boto3.session.Session().client("s3", endpoint_url=s3_environment)
    client.create_bucket(Bucket=name)
    client.close()
    return name
