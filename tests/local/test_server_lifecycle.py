"""`up`, `down` and `status`, with the sample app in place of the product's stack."""

import json
import os
import signal
import socketserver
import threading

import httpx
import pytest

from local import lifecycle
from local.deploy import deploy
from local.place import Place
from tests.local.conftest import SAMPLE_APP, until


@pytest.fixture(scope="module")
def place(new_cloud):
    return new_cloud().place


@pytest.fixture(autouse=True)
def made(monkeypatch):
    """The sample app is deployed, and each key that is made is counted."""
    keys = []

    def bootstrap(_place):
        keys.append(f"unsay_key_{len(keys)}")
        return keys[-1]

    monkeypatch.setattr(lifecycle, "deploy", lambda place, _, say: deploy(place, SAMPLE_APP, say))
    monkeypatch.setattr(lifecycle, "_bootstrap", bootstrap)
    return keys


@pytest.fixture(scope="module", autouse=True)
def _stopped(place):
    yield
    lifecycle.down(place)


def read(place):
    return json.loads(place.local_json.read_text())


def test_its_whole_life(place, made, capsys):
    """Up, up again, killed and up, down: one server and one key throughout. One test, for its one server."""
    assert lifecycle.up(place) == 0
    local = read(place)
    assert set(local) == {"url", "admin_key", "control_url", "pid", "log", "endpoint_url"}
    assert place.local_json.stat().st_mode & 0o777 == 0o600
    assert httpx.get(f"{local['url']}/v1/health").status_code == 200
    assert httpx.get(local["control_url"]).status_code == 200
    printed = capsys.readouterr().out
    assert local["admin_key"] in printed
    assert "curl -sS" in printed
    assert local["admin_key"] not in place.log.read_text()

    # A daemon of its own: another session, and nothing of ours open.
    assert os.getsid(local["pid"]) != os.getsid(0)
    streams = {os.readlink(f"/proc/{local['pid']}/fd/{n}") for n in (0, 1, 2)}
    assert streams == {"/dev/null", str(place.log)}

    assert lifecycle.up(place) == 0
    assert read(place) == local
    assert lifecycle.status(place) == 0

    os.kill(local["pid"], signal.SIGKILL)
    until(lambda: lifecycle.running(place) is None)
    assert lifecycle.status(place) == 1
    assert lifecycle.up(place) == 0
    again = read(place)
    assert again["admin_key"] == local["admin_key"]
    assert again["pid"] != local["pid"]
    assert made == [local["admin_key"]]

    # The port is the one it was started on: `down` needs to know the state alone.
    assert lifecycle.down(Place(1, place.state)) == 0
    assert lifecycle.running(place) is None
    assert lifecycle.down(place) == 0


def test_a_port_that_another_program_uses_is_named(tmp_path, capsys):
    class Other(socketserver.BaseRequestHandler):
        """A server that speaks no HTTP."""

    with socketserver.TCPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01}).start()
        port = other.server_address[1]
        assert lifecycle.up(Place(port, tmp_path)) == 1
        other.shutdown()
    assert f"port {port} is used by another program" in capsys.readouterr().err


def test_a_port_that_serves_another_state_is_left_alone(cloud, tmp_path, capsys):
    assert lifecycle.up(Place(cloud.place.port, tmp_path)) == 1
    assert str(cloud.place.state) in capsys.readouterr().err.replace("\n", "")
    assert lifecycle.down(Place(cloud.place.port, tmp_path)) == 0
    assert lifecycle.running(cloud.place)
