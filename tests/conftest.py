"""Fixtures that every test may ask for."""

import hashlib
import importlib.util
import itertools
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loudr_core.store import s3

ROOT = Path(__file__).parents[1]
WHOLE_S = 900.0
"""Longest time for a test that starts whole commands, each of which may take minutes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name in ("e2e", "integration"):
            item.add_marker(pytest.mark.timeout(WHOLE_S))


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Return the folder of books and fixtures that do not lie in the repository, or skip."""
    path = Path(os.environ.get("LOUDR_TEST_DATA", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"no test data at {path}; set LOUDR_TEST_DATA to run this test")
    return path


@pytest.fixture(scope="session")
def loudr1_bundles(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return what writes a tiny bundle once and gives its folder, which no test may change.

    Its arguments are those of `write_bundle` in `tests/bundle/loudr1.py` after the folder. All
    processes of a run share the folders: whoever is first to finish one has written it.
    """
    from loudr1 import write_bundle

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def bundle(**options: Any) -> Path:
        kind = "loudr-1-turbo" if options.get("turbo") else "loudr-1"
        name = hashlib.sha256(repr(sorted(options.items())).encode()).hexdigest()[:8]
        folder = shared / f"bundle-{name}" / kind
        if not folder.is_dir():
            made = write_bundle(tmp_path_factory.mktemp("bundle") / kind, **options)
            folder.parent.mkdir(exist_ok=True)
            try:
                made.rename(folder)
            except OSError:  # another process was quicker
                shutil.rmtree(made)
        return folder

    return bundle


@pytest.fixture(scope="session")
def loudr1_bundle(loudr1_bundles: Callable[..., Path]) -> Path:
    """Return the folder of the tiny loudr-1 bundle, enrolment graphs included."""
    return loudr1_bundles(enrolment=True)


@pytest.fixture(scope="session")
def turbo_bundle(loudr1_bundles: Callable[..., Path]) -> Path:
    """Return the folder of the tiny loudr-1-turbo bundle, enrolment graphs included."""
    return loudr1_bundles(turbo=True, enrolment=True)


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

    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # it says a line a request
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
    # A process has one client for each endpoint, and takes it that its own does not change.
    s3._made.cache_clear()
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


@pytest.fixture(scope="session")
def faults() -> ModuleType:
    """Return the module of the proxy that makes an S3 server fail: `FaultyS3`, `at_random`."""
    path = Path(__file__).with_name("faulty_s3.py")
    spec = importlib.util.spec_from_file_location("faulty_s3", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def faulty_s3(s3_environment: str, faults: ModuleType) -> Iterator[Callable[..., Any]]:
    """Return a way to put such a proxy before the S3 server: `faulty_s3(rule, latency_s=…)`."""
    proxies: list[Any] = []

    def start(*arguments: Any, **options: Any) -> Any:
        proxies.append(faults.FaultyS3(s3_environment, *arguments, **options))
        return proxies[-1]

    yield start
    for proxy in proxies:
        proxy.close()
