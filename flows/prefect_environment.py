"""The environment that keeps Prefect quiet, offline and inside loudr's own home.

Prefect reads these variables when it is first imported, so they are set before that, and every
child process inherits them. What an operator has set wins.
"""

import os
from collections.abc import MutableMapping
from pathlib import Path

__all__ = ["apply", "quiet"]


def quiet(home: Path) -> dict[str, str]:
    """Return the variables: no analytics, no telemetry, no look-up of any outside name."""
    return {
        "PREFECT_HOME": str(home / "prefect"),
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
        "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
        "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "PREFECT_LOGGING_EXTRA_LOGGERS": "loudr_core",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "500",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "500",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
            "prefect.server.concurrency.lease_storage.filesystem"
        ),
    }


def apply(home: Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Set every variable of `quiet` that is not set."""
    for name, value in quiet(home).items():
        environment.setdefault(name, value)
