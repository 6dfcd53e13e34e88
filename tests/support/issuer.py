"""An OpenID Connect issuer with keys of its own: its documents, its tokens, and tokens nobody should take."""

from __future__ import annotations

import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

AUDIENCE = "unsay"
_RSA = [rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2)]
_DISCOVERY = "/.well-known/openid-configuration"


def b64(text: bytes | str) -> str:
    """Base64url as tokens have it."""
    return urlsafe_b64encode(text.encode() if isinstance(text, str) else text).decode().rstrip("=")


class Issuer:
    """Documents at paths, and tokens signed with its keys; `down` makes every fetch fail."""

    def __init__(self, url: str = "https://login.example.com/tenant") -> None:
        self.url = url
        self.down = False
        self.fetched: list[str] = []
        self.private: dict[str, tuple[str, Any]] = {
            "rsa": ("RS256", _RSA[0]),
            "pss": ("PS256", _RSA[0]),
            "ec": ("ES256", ec.generate_private_key(ec.SECP256R1())),
            "ed": ("EdDSA", ed25519.Ed25519PrivateKey.generate()),
        }
        self.withheld: set[str] = set()  # ids of keys that are not published
        self.extra: list[dict[str, Any]] = []  # published beside them

    def rotate(self) -> None:
        """The key `rsa` goes, `rsa2` comes."""
        self.private.pop("rsa")
        self.private["rsa2"] = ("RS256", _RSA[1])

    @property
    def keys(self) -> list[dict[str, Any]]:
        """The published keys."""
        algorithms = get_default_algorithms()
        return [
            {**algorithms[alg].to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig", "alg": alg}
            for kid, (alg, key) in self.private.items()
            if kid not in self.withheld
        ] + self.extra

    def document(self, url: str) -> dict[str, Any] | None:
        """What lies at an address."""
        if url == f"{self.url}{_DISCOVERY}":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        return {"keys": self.keys} if url == f"{self.url}/keys" else None

    def fetch(self, url: str) -> dict[str, Any]:
        """See `fetch_json`."""
        from unsay_core.adapters.https_json import FetchError

        self.fetched.append(url)
        found = None if self.down else self.document(url)
        if found is None:
            raise FetchError("down")
        return found

    def claims(self, now: float, **changed: Any) -> dict[str, Any]:
        """Claims that hold at `now` for ten minutes; None leaves one out."""
        stated = {"iss": self.url, "sub": "alice", "aud": AUDIENCE, "iat": int(now), "exp": int(now) + 600}
        return {name: value for name, value in (stated | changed).items() if value is not None}

    def token(self, now: float, kid: str = "rsa", header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token signed with one of its keys."""
        return self.signed(json.dumps(self.claims(now, **claims)), kid, header)

    def signed(self, payload: str, kid: str = "rsa", header: dict[str, Any] | None = None) -> str:
        """A token over any payload."""
        alg, key = self.private[kid]
        stated = {"alg": alg, "kid": kid, "typ": "JWT", **(header or {})}
        signed = f"{b64(json.dumps(stated))}.{b64(payload)}"
        return f"{signed}.{b64(get_default_algorithms()[alg].sign(signed.encode(), key))}"


def forged(header: dict[str, Any] | str, payload: str, signature: bytes = b"x" * 32) -> str:
    """Three parts put together by hand."""
    head = header if isinstance(header, str) else json.dumps(header)
    return f"{b64(head)}.{b64(payload)}.{b64(signature)}"


@contextmanager
def on_loopback() -> Iterator[Issuer]:
    """A real issuer behind a real port."""
    issuer: Issuer

    class Documents(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.fetched.append(self.path)
            found = None if issuer.down else issuer.document(f"{issuer.url}{self.path}")
            body = json.dumps(found or {}).encode()
            self.send_response(200 if found else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Documents)
    issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
