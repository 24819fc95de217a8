"""Who may decide, as the operator writes it down (W1, W2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.app import approvers
from runner.captures import ed25519
from runner.errors import SettingsError
from runner.settings import config_file, load_settings

ANNA, BEN = ed25519.make().public, ed25519.make().public


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RUNNER_APPROVERS", "RUNNER_TRIPWIRES", "RUNNER_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def written(text: str) -> None:
    file = config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(text)


def test_uids_and_keys_come_from_the_file_or_from_one_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    written(f'[approvers]\nuids = [7]\nkeys = {{ anna = "{ANNA}" }}\n')
    assert (load_settings().approvers.uids, load_settings().approvers.keys) == ((7,), {"anna": ANNA})
    monkeypatch.setenv("RUNNER_APPROVERS", f"1000,ben={BEN},1001")
    assert (load_settings().approvers.uids, load_settings().approvers.keys) == ((1000, 1001), {"ben": BEN})
    assert approvers(load_settings())["keys"] == [{"name": "ben", "key": BEN, "fingerprint": ed25519.fingerprint(BEN)}]


def test_a_variable_that_names_uids_alone_takes_no_key_out_of_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """W2: what was set up before there were keys must not switch them off."""
    written(f'[approvers]\nkeys = {{ anna = "{ANNA}" }}\n')
    monkeypatch.setenv("RUNNER_APPROVERS", "1000")
    assert (load_settings().approvers.uids, load_settings().approvers.keys) == ((1000,), {"anna": ANNA})


@pytest.mark.parametrize(
    "text",
    [
        "anna",
        "anna=",
        f"={ANNA}",
        "anna=ed25519:x",
        f"anna={ANNA},ben={ANNA}",
        f"anna={ANNA},anna={BEN}",
        "1000,",
        f"an na={ANNA}",
    ],
    ids=["no-key", "empty-key", "no-name", "short-key", "one-key-twice", "one-name-twice", "empty-entry", "space-in-name"],
)
def test_what_is_no_list_of_uids_and_keys_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """D5: one key under two names would be two approvers to whoever reads the record."""
    monkeypatch.setenv("RUNNER_APPROVERS", text)
    with pytest.raises(SettingsError, match="RUNNER_APPROVERS"):
        load_settings()


@pytest.mark.parametrize("raw", ["AQ" + "A" * 41, "A" * 43])
def test_a_key_under_which_anybody_can_sign_stops_the_start(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_APPROVERS", f"anna=ed25519:{raw}")
    with pytest.raises(SettingsError, match=r"RUNNER_APPROVERS\.keys\.anna"):
        approvers(load_settings())


def test_tripwires_are_on_until_they_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """W3."""
    assert load_settings().tripwires
    monkeypatch.setenv("RUNNER_TRIPWIRES", "off")
    assert not load_settings().tripwires
