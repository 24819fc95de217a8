"""[ingress]: off unless it is asked for, and nothing beyond this machine in the clear (cli.md Settings)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from runner.errors import SettingsError
from runner.setting_tables import Ingress
from runner.settings import load_settings

PEM = {"certificate": "/etc/runner/cert.pem", "key": "/etc/runner/key.pem"}


def test_it_is_off_by_default() -> None:
    assert Ingress().bind is None
    assert (Ingress().per_hour, Ingress().share_seconds) == (20, 7 * 86400)


@pytest.mark.parametrize(
    ("table", "origin"),
    [
        ({"bind": "127.0.0.1:8443"}, "http://127.0.0.1:8443"),
        ({"bind": "[::1]:8443"}, "http://[::1]:8443"),
        ({"bind": "localhost:8443"}, "http://localhost:8443"),
        ({"bind": "192.0.2.1:8443", **PEM}, "https://192.0.2.1:8443"),
        ({"bind": "0.0.0.0:8443", "public_url": "https://agents.example", **PEM}, "https://agents.example"),
        ({"bind": "192.0.2.1:80", "behind_proxy": True, "public_url": "https://a.example"}, "https://a.example"),
    ],
)
def test_senders_find_it_where_it_says(table: dict[str, Any], origin: str) -> None:
    assert Ingress(**table).origin == origin


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"bind": "192.0.2.1:8443"}, "beyond this machine"),
        ({"bind": "agents.example:8443"}, "beyond this machine"),
        ({"bind": "0.0.0.0:8443", **PEM}, "public_url is missing"),
        ({"bind": "[::]:8443", **PEM}, "public_url is missing"),
        ({"bind": "127.0.0.1:80", "behind_proxy": True}, "public_url is missing"),
        ({"bind": "127.0.0.1:8443", "certificate": "/c.pem"}, "go together"),
        ({"bind": "127.0.0.1"}, "bind"),
        ({"bind": "127.0.0.1:0"}, "bind"),
        ({"bind": "127.0.0.1:8443", "public_url": "https://a.example/path"}, "public_url"),
        ({"bind": "127.0.0.1:8443", "public_url": "https://user@a.example"}, "public_url"),
        ({"per_hour": 0}, "per_hour"),
        ({"share_seconds": 0}, "share_seconds"),
        ({"share_seconds": 91 * 86400}, "share_seconds"),
        ({"tls": True}, "tls"),
    ],
)
def test_what_is_open_to_others_or_makes_no_sense_is_refused(table: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Ingress(**table)


def test_the_environment_sets_it_and_a_wrong_value_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_INGRESS__BIND", "127.0.0.1:8443")
    assert load_settings().ingress.bind == "127.0.0.1:8443"
    monkeypatch.setenv("RUNNER_INGRESS__BIND", "10.0.0.1:8443")
    with pytest.raises(SettingsError, match="RUNNER_INGRESS"):
        load_settings()
