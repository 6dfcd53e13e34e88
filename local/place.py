"""Where one local cloud lives: its port and its state folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
REGION = "us-east-1"
ACCOUNT = "000000000000"
STACK = "unsay-dev"
# Any client may use the root test key; what a Lambda may do is decided by its own role.
ROOT_KEY = "test"


# A Python built as a shared library may not start without it; Lambda sets it for its own.
PYTHON_NEEDS = ("LD_LIBRARY_PATH",)
# A model of your own instead of the rule that stands for one (`local/converse.py`).
OWN_MODEL = ("UNSAY_LOCAL_LLM_URL", "UNSAY_LOCAL_LLM_MODEL", "UNSAY_LOCAL_LLM_KEY")


def _kept(*names: str) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


@dataclass(frozen=True)
class Place:
    """One local cloud: its port on loopback and the folder its state is kept in."""

    port: int
    state: Path

    @property
    def url(self) -> str:
        """Base URL of both the AWS endpoint and, below `/v1`, the deployed API."""
        return f"http://{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        """Log file of the server."""
        return self.state / "server.log"

    @property
    def local_json(self) -> Path:
        """The file a client starts from: URL, admin key, control URL."""
        return self.state / "local.json"

    def client_environment(self) -> dict[str, str]:
        """The AWS settings that point an SDK at this cloud with the root test key."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": ROOT_KEY,
            "AWS_SECRET_ACCESS_KEY": ROOT_KEY,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
        }

    def server_environment(self) -> dict[str, str]:
        """Everything the server process may see: nothing of the shell that started it but where tools are."""
        return _kept("PATH", "HOME", "LANG", "TMPDIR", *PYTHON_NEEDS, *OWN_MODEL) | {
            "BIND_HOST": HOST,
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_REGION": REGION,
            "AUTH": "true",
            "PERSIST_STATE": "1",
            "STATE_DIR": str(self.state / "cloud"),
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(self.state / "objects"),
            "LAMBDA_EXECUTOR": "local",
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
            "LOG_LEVEL": "WARNING",
        }
