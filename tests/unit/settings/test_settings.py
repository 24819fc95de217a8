"""Settings: where they come from, what is refused, and that the refusal names the setting (cli.md Settings)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import SettingsError
from runner.model import Policy
from runner.settings import config_file, control_socket, default_state_dir, load_settings, socket_dir


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STATE_DIR", "DATABASE_URL", "MODEL", "KEY_FILE", "RUNTIME", "MAX_POLICY", "APPROVERS", "LOG_LEVEL"):
        monkeypatch.delenv(f"RUNNER_{name}", raising=False)
    for name in (
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "ANTHROPIC_AUTH_TOKEN",
        "DOCKER_HOST",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write_config(text: str) -> Path:
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_the_defaults_are_the_documented_ones(home: Path) -> None:
    settings = load_settings()
    assert settings.state_dir == home / ".local/state/runner" == default_state_dir()
    assert settings.database_url.get_secret_value() == f"sqlite:///{settings.state_dir}/runner.db"
    assert (settings.model, settings.model_kind, settings.script_file) == ("anthropic", "anthropic", None)
    assert (settings.runtime, settings.max_policy, settings.approvers.uids) == ("runc", Policy.SKIP, ())
    assert (settings.docker_host, settings.api_key, settings.log_level) == (None, None, "info")
    assert settings.model_timeout == 120.0
    assert control_socket(settings) == settings.state_dir / "control.sock"


def test_the_environment_stands_above_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('runtime = "runsc"\nmax_policy = "ask"\ndocker_host = "unix:///x"\n[approvers]\nuids = [1, 2]\n')
    monkeypatch.setenv("RUNNER_MAX_POLICY", "read_only")
    monkeypatch.setenv("RUNNER_MODEL", f"scripted:{home}/s.json")
    settings = load_settings()
    assert (settings.runtime, settings.max_policy, settings.approvers.uids) == ("runsc", Policy.READ_ONLY, (1, 2))
    assert (settings.docker_host, settings.script_file) == ("unix:///x", home / "s.json")
    monkeypatch.setenv("RUNNER_APPROVERS", "7,8")
    assert load_settings().approvers.uids == (7, 8)


def test_the_database_follows_the_state_directory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_STATE_DIR", "/elsewhere")
    assert load_settings().database_url.get_secret_value() == "sqlite:////elsewhere/runner.db"
    monkeypatch.setenv("RUNNER_DATABASE_URL", "postgresql+psycopg://u:secret@h/d")
    settings = load_settings()
    assert settings.database_url.get_secret_value() == "postgresql+psycopg://u:secret@h/d"
    assert "secret" not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RUNNER_STATE_DIR", "relative"),
        ("RUNNER_MODEL", "gpt"),
        ("RUNNER_MODEL", "scripted:"),
        ("RUNNER_MODEL", "https://user:pw@host/"),
        ("RUNNER_MODEL_TIMEOUT", "0"),
        ("RUNNER_MODEL_TIMEOUT", "nan"),
        ("RUNNER_MODEL_TIMEOUT", "3601"),
        ("RUNNER_MAX_POLICY", "all"),
        ("RUNNER_RUNTIME", "run c;"),
        ("RUNNER_APPROVERS", "root"),
        ("RUNNER_LOG_LEVEL", "loud"),
        ("RUNNER_KEY_FILE", "key"),
    ],
)
def test_a_wrong_variable_is_named(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=f"cannot use setting {variable}"):
        load_settings()


@pytest.mark.parametrize(
    "text", ["modle = 'x'", "[approvers]\nuids = [-1]", "[approvers]\nuid = [1]", "ANTHROPIC_API_KEY = 3", "x ="]
)
def test_a_wrong_file_is_refused(text: str) -> None:
    write_config(text)
    with pytest.raises(SettingsError):
        load_settings()


def test_a_file_that_others_can_write_is_refused() -> None:
    """Case 46: what grants power later must be the operator's."""
    write_config("runtime = 'runc'").chmod(0o666)
    with pytest.raises(SettingsError, match="other users"):
        load_settings()


def test_the_key_comes_from_the_environment_or_a_private_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = home / "key"
    key.write_text("sk-file\n")
    key.chmod(0o600)
    monkeypatch.setenv("RUNNER_KEY_FILE", str(key))
    found = load_settings().read_key()
    assert found is not None
    assert found.get_secret_value() == "sk-file"
    key.chmod(0o644)
    with pytest.raises(SettingsError, match="RUNNER_KEY_FILE"):
        load_settings().read_key()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
    settings = load_settings()
    found = settings.read_key()
    assert found is not None
    assert found.get_secret_value() == "sk-env"
    assert "sk-env" not in f"{settings!r} {settings.model_dump_json()}"


@pytest.mark.parametrize("name", ["CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"])
def test_a_token_stands_in_for_a_key_and_is_as_secret(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Sdk.md §6; with a key there is no doubt which of the two is used."""
    monkeypatch.setenv(name, "sk-ant-oat-1")
    settings = load_settings()
    assert settings.credentials() == {"key": None, "token": "sk-ant-oat-1"}
    assert "sk-ant-oat" not in f"{settings!r} {settings.model_dump_json()}"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
    assert load_settings().credentials() == {"key": "sk-env", "token": None}


def test_two_state_directories_never_share_a_socket(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    assert socket_dir(load_settings()) == Path("/run/user/1/runner")
    monkeypatch.setenv("RUNNER_STATE_DIR", "/a")
    one = socket_dir(load_settings())
    monkeypatch.setenv("RUNNER_STATE_DIR", "/b")
    assert one.parent == Path("/run/user/1/runner")
    assert one != socket_dir(load_settings())
