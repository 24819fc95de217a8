"""Apprise behind its door: what it knows, what is never shown, how settings become channels (C1)."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from runner.errors import SettingsError
from runner.notify.channels import apprise_channels, name_of
from runner.notify.wiring import make_notifier
from runner.settings import config_file, load_settings
from runner.store import Store
from tests.helpers.stored import NOW

TOKEN = "T0" + "pS3cr3t" * 4


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "RUNNER_NOTIFY", "RUNNER_STATE_DIR", "RUNNER_APPROVERS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def configure(text: str, mode: int = 0o600) -> None:
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def test_a_channels_name_tells_two_apart_and_nothing_of_the_url() -> None:
    one, other = name_of(f"ntfys://user:{TOKEN}@ntfy.example/topic"), name_of("ntfys://user:other@ntfy.example/topic")
    assert one.startswith("ntfys-")
    assert one != other
    assert TOKEN not in one
    assert "example" not in one
    assert name_of("\x1b[31m://x").startswith("31m-")


@pytest.mark.parametrize("url", ["nosuch://x", "not a url", "", "json://", "\x00"])
def test_a_url_that_is_none_is_refused_by_its_number_only(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        apprise_channels(["json://localhost/", url])
    assert "number 2" in caught.value.brief
    assert not url or url not in caught.value.diagnostics()


def test_nothing_a_library_says_about_a_url_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Apprise, requests and urllib3 log addresses, whose paths are the tokens of many services."""
    caplog.set_level(logging.DEBUG)
    (channel,) = apprise_channels([f"json://user:{TOKEN}@127.0.0.1:9/{TOKEN}?cto=1&rto=1"])
    for name in ("apprise", "requests", "urllib3.connectionpool"):
        logging.getLogger(name).warning(TOKEN)
    assert TOKEN not in caplog.text
    assert TOKEN not in channel.name


def test_settings_become_channels_in_their_order_and_a_url_twice_is_one(tmp_path: Path) -> None:
    configure(
        '[notify]\nurls = ["json://localhost:1/", "json://localhost:1/", "xml://localhost:2/"]\nquiet = "22:00-07:00"\n'
        '[notify.webhook]\nurl = "https://x.example/"\nsecret = "0123456789abcdef"\n'
    )
    notifier = make_notifier(load_settings().notify, store=Store(""), clock=lambda: NOW, entropy=lambda n: b"x" * n)
    assert [name.partition("-")[0] for name in notifier.names] == ["json", "xml", "webhook"]


def test_a_file_with_urls_that_others_may_read_is_refused() -> None:
    configure('[notify]\nurls = ["json://localhost/"]\n', mode=0o644)
    with pytest.raises(SettingsError, match="other users read"):
        load_settings()


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('quiet = "10-11"', "RUNNER_NOTIFY.quiet"),
        ('quiet = "25:00-07:00"', "RUNNER_NOTIFY.quiet"),
        ('digest = ["9"]', "RUNNER_NOTIFY.digest.0"),
        ("settle = -1", "RUNNER_NOTIFY.settle"),
        ('webhook = { url = "https://x.example/", secret = "short" }', "RUNNER_NOTIFY.webhook.secret"),
        ('webhook = { url = "https://u:p@x.example/", secret = "0123456789abcdef" }', "RUNNER_NOTIFY.webhook.url"),
        (f'colour = "{TOKEN}"', "RUNNER_NOTIFY.colour"),
    ],
)
def test_a_wrong_wish_is_named_and_its_value_is_not(line: str, named: str) -> None:
    configure(f"[notify]\n{line}\n")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    said = caught.value.diagnostics()
    assert f"setting {named}:" in said
    assert not any(secret in said for secret in (TOKEN, "u:p@", "short"))


def test_the_environment_may_hold_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_NOTIFY__URLS", '["json://localhost/"]')
    monkeypatch.setenv("RUNNER_NOTIFY__SETTLE", "5")
    found = load_settings().notify
    assert (len(found.urls), found.settle) == (1, 5.0)
    assert "localhost" not in repr(found)
