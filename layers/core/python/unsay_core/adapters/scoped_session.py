"""Sessions that can touch one scope: the only code that asks STS for anything.

A session carries the scope's id as its one tag, and the role's policy compares that tag with the keys
and prefixes of every request. What code does after a scope is open cannot reach another scope. The roles of
vector indexes carry the id of the scope's root instead, because an index is a root's.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from boto3.session import Session
    from mypy_boto3_sts import STSClient

Tag: TypeAlias = "tuple[str, str]"

LIFETIME = 3_600  # seconds; the most that a role assumed from a role may have
EARLY = timedelta(minutes=5)
KEPT = 128  # scopes with a role, for which clients stay open

QUICK = Config(
    connect_timeout=2,
    read_timeout=8,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=16,
    tcp_keepalive=True,
)

# For what somebody waits for with a deadline: what is given up on ends by itself within some ten seconds.
PROMPT = Config(
    connect_timeout=2,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 2},
    max_pool_connections=16,
    tcp_keepalive=True,
)


class ScopedClients:
    """The AWS clients of one tagged session, made when first asked for.

    `lock` guards the one session that all of them are made from: boto3 makes one client at a time.
    """

    def __init__(
        self, session: Session, credentials: dict[str, Any], expires_at: datetime, lock: threading.Lock
    ) -> None:
        self._session = session
        self._credentials = credentials
        self._clients: dict[tuple[str, Config], Any] = {}
        self._lock = lock
        self.expires_at = expires_at

    def client(self, service: str, config: Config = QUICK) -> Any:
        """A client of one service with this session's credentials."""
        with self._lock:
            if (service, config) not in self._clients:
                made = self._session.client(service, config=config, **self._credentials)
                self._clients[service, config] = made
            return self._clients[service, config]


class ScopedSessions:
    """Sessions by (role, scope): cached, renewed early, and never kept after a failure."""

    def __init__(
        self, session: Session, now: Callable[[], datetime], failed: Callable[[], None] = lambda: None
    ) -> None:
        self._session = session
        self._now = now
        self._failed = failed
        self._sts: STSClient = session.client("sts", config=PROMPT)
        self._open: OrderedDict[tuple[str, Tag | None], ScopedClients] = OrderedDict()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def assume(self, role_arn: str, scope_id: str | None) -> ScopedClients:
        """The clients of a role narrowed to a scope; no scope is for the access table's role alone.

        Raises `UnavailableError` when STS does not answer: never a wider credential instead.
        """
        return self._opened(role_arn, None if scope_id is None else ("scope", scope_id))

    def assume_for_root(self, role_arn: str, root_id: str) -> ScopedClients:
        """The clients of a role narrowed to one root's indexes, which reaches no table and no document.

        Raises as `assume` does.
        """
        return self._opened(role_arn, ("root", root_id))

    def _opened(self, role_arn: str, tag: Tag | None) -> ScopedClients:
        key = (role_arn, tag)
        with self._lock:
            cached = self._open.get(key)
            if cached and cached.expires_at - EARLY > self._now():
                self._open.move_to_end(key)
                return cached
        fresh = self._assumed(role_arn, tag)
        with self._lock:
            self._open[key] = fresh
            self._open.move_to_end(key)
            while len(self._open) > KEPT:
                self._open.popitem(last=False)
        return fresh

    def forget(self) -> None:
        """Drop every session: none may lie in a snapshot, to be used by all that are restored from it."""
        with self._lock:
            self._open.clear()

    def _assumed(self, role_arn: str, tag: Tag | None) -> ScopedClients:
        tags: Any = [] if tag is None else [{"Key": tag[0], "Value": tag[1]}]
        try:
            answer = self._sts.assume_role(
                RoleArn=role_arn, RoleSessionName="unsay", DurationSeconds=LIFETIME, Tags=tags
            )
        except (BotoCoreError, ClientError) as failure:
            self._failed()
            raise UnavailableError("no credentials could be had for this scope") from failure
        given = answer["Credentials"]
        credentials: dict[str, Any] = {
            "aws_access_key_id": given["AccessKeyId"],
            "aws_secret_access_key": given["SecretAccessKey"],
            "aws_session_token": given["SessionToken"],
        }
        return ScopedClients(self._session, credentials, given["Expiration"], self._making)
