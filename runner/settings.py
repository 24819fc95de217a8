"""The operator's settings: environment first, then config.toml, then defaults (cli.md Settings).

Owns their names, checks and error messages, and the private directories that follow from them. Never reads a profile.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings.sources import InitSettingsSource

from runner.errors import SettingsError
from runner.model import Json, JsonObject, Policy
from runner.setting_tables import Credentials, DayBudgets, Host, Ingress, ModelPrice, Notify, Pool

CONTROL_SOCKET = "control.sock"


class Approvers(BaseModel):
    """Who may decide besides the supervisor's own uid (W1)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    uids: tuple[Annotated[int, Field(ge=0, strict=True)], ...] = ()
    #: Name → public key. With any, whatever releases something has to be signed with one of them (W2).
    keys: Mapping[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$")],
        Annotated[str, Field(pattern=r"^ed25519:[A-Za-z0-9_-]{43}$")],
    ] = Field(default_factory=dict)

    @field_validator("keys")
    @classmethod
    def _each_key_once(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        """Two names for one key would be two approvers to whoever reads the record (D5)."""
        if len(set(value.values())) < len(value):
            raise ValueError("the same key has two names")
        return value


class Settings(BaseSettings):
    """Every setting, checked. Absent and empty environment variables mean the same: the default."""

    model_config = SettingsConfigDict(
        env_prefix="RUNNER_",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        validate_default=True,
        env_nested_delimiter="__",
    )

    state_dir: Path = Field(default_factory=lambda: default_state_dir())  # noqa: PLW0108 - defined below
    database_url: SecretStr = SecretStr("")  #: after checking never empty: SQLite in the state directory
    model: str = "anthropic"  #: `anthropic`, an http(s) URL, or `scripted:FILE` with an absolute path after checking
    model_timeout: Annotated[float, Field(gt=0, le=3600)] = 120.0  #: seconds a model's upstream may stay silent
    api_key: SecretStr | None = Field(default=None, validation_alias="ANTHROPIC_API_KEY")
    #: A subscription's; used when there is no key.
    auth_token: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN")
    )
    key_file: Path | None = None
    docker_host: str | None = Field(default=None, validation_alias=AliasChoices("DOCKER_HOST", "docker_host"))
    runtime: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] = "runc"
    max_policy: Policy = Policy.SKIP  #: `skip`: no ceiling
    strict: bool = False  #: every run that begins from now on is strict, whatever its profile says (R33)
    approvers: Annotated[Approvers, NoDecode] = Approvers()
    notify: Notify = Notify()
    budgets: DayBudgets = DayBudgets()
    #: By the beginning of a model's name; beside the table that comes along.
    prices: Mapping[Annotated[str, Field(min_length=1, max_length=256)], ModelPrice] = Field(default_factory=dict)
    ingress: Ingress = Ingress()
    pool: Pool = Pool()
    host: Host = Host()
    tripwires: bool = True  #: refuse a yes that comes from within an agent's shell (W3)
    #: `event:before`, `event:after`, `event:after:2`: where a fault campaign has the supervisor killed; never set it.
    failpoint: Annotated[str, Field(pattern=r"^[a-z_]+\.[a-z_]+:(before|after)(:[1-9][0-9]?)?$")] | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("state_dir", "key_file")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_absolute():
            raise ValueError("must be an absolute path")
        return value

    @field_validator("model")
    @classmethod
    def _known_model(cls, value: str) -> str:
        if value.startswith("scripted:") and len(value) > len("scripted:"):
            return f"scripted:{Path(value.removeprefix('scripted:')).absolute()}"
        if value == "anthropic" or re.fullmatch(r"https?://[^\s/@]+(/[^\s]*)?", value):
            return value
        raise ValueError("must be anthropic, an http(s) URL without credentials, or scripted:FILE")

    @field_validator("approvers", mode="before")
    @classmethod
    def _approver_list(cls, value: object) -> object:
        """RUNNER_APPROVERS is a list of uids and keys: `1000,anna=ed25519:…`. Without a key in it the file's stay in force."""
        if not isinstance(value, str):
            return value
        parts = value.split(",")
        uids = [part for part in parts if re.fullmatch(r"\d{1,10}", part)]
        named = [part.partition("=") for part in parts if part not in uids]
        names = [name for name, mark, key in named if mark and name and key]
        if len(names) < len(named) or len(set(names)) < len(names):
            raise ValueError("must be uids and NAME=KEY with commas between them, such as 1000,1001,anna=ed25519:…")
        kept = _read_config(config_file()).get("approvers")
        keys: Json = {name: key for name, _, key in named} or (kept.get("keys", {}) if isinstance(kept, dict) else {})
        return {"uids": tuple(int(uid) for uid in uids), "keys": keys}

    @model_validator(mode="before")
    @classmethod
    def _database_in_state_dir(cls, values: JsonObject) -> JsonObject:
        if not values.get("database_url"):
            state = values.get("state_dir") or str(default_state_dir())
            return {**values, "database_url": f"sqlite:///{state}/runner.db"}
        return values

    @classmethod
    def settings_customise_sources(  # noqa: PLR0917 - the signature is pydantic's
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment above file; no .env of the directory the command happens to run in."""
        return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=_read_config(config_file()))

    @property
    def model_kind(self) -> str:
        """`anthropic`, `url` or `scripted`."""
        return self.model if self.model == "anthropic" else "scripted" if self.model.startswith("scripted:") else "url"

    @property
    def script_file(self) -> Path | None:
        """The scripted model's file."""
        return Path(self.model.removeprefix("scripted:")) if self.model_kind == "scripted" else None

    def read_key(self) -> SecretStr | None:
        """The model provider's key: from the environment, else from the key file.

        Raises:
            SettingsError: The key file cannot be read, is empty or can be read by others.
        """
        if self.api_key is not None or self.key_file is None:
            return self.api_key
        text = read_private(self.key_file, setting="RUNNER_KEY_FILE", mask=0o077).strip()
        if not text:
            raise SettingsError(f"cannot use RUNNER_KEY_FILE: {self.key_file} is empty", resolution="put the key in it")
        return SecretStr(text)

    def credentials(self) -> Credentials:
        """What the upstream is told: the key, as `read_key` has it, or where there is none the token."""
        key, token = self.read_key(), self.auth_token
        if key is not None or token is None:
            return Credentials(key=None if key is None else key.get_secret_value(), token=None)
        return Credentials(key=None, token=token.get_secret_value())


def load_settings() -> Settings:
    """The settings of this process.

    Raises:
        SettingsError: Names the first setting that cannot be used.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = _setting_name(first["loc"])
        raise SettingsError(
            f"cannot use setting {name}: {first['msg'].removeprefix('Value error, ')}",
            resolution=f"look at the environment and at {config_file()}",
        ) from None


def default_state_dir() -> Path:
    """`$XDG_STATE_HOME/runner`, else `~/.local/state/runner`."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "runner"


def config_file() -> Path:
    """`$XDG_CONFIG_HOME/runner/config.toml`, else beneath `~/.config`."""
    return _xdg("XDG_CONFIG_HOME", ".config") / "runner" / "config.toml"


def socket_dir(settings: Settings) -> Path:
    """Where the supervisor's sockets are: `$XDG_RUNTIME_DIR/runner`, else the state directory.

    A state directory other than the default one has a folder of its own there, so that two supervisors never share a socket.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if not runtime.startswith("/"):
        return settings.state_dir
    base = Path(runtime) / "runner"
    if settings.state_dir == default_state_dir():
        return base
    return base / hashlib.sha256(os.fsencode(settings.state_dir)).hexdigest()[:16]


def control_socket(settings: Settings) -> Path:
    """Path of the control socket."""
    return socket_dir(settings) / CONTROL_SOCKET


def private_directory(path: Path) -> Path:
    """Make sure that `path` is a directory of ours that nobody else can enter (case 36); missing parents are made likewise.

    Raises:
        SettingsError: It is a link, no directory, another user's, open to others, or cannot be made.
    """
    try:
        if not path.parent.exists():
            private_directory(path.parent)
        parent = path.parent.stat()
        if parent.st_mode & 0o002 and not parent.st_mode & stat.S_ISVTX:
            raise SettingsError(
                f"cannot use directory {path}: anybody may replace it in {path.parent}", resolution="choose a path of your own"
            )
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        cause = "it is a link or no directory" if path.is_symlink() or path.is_file() else (error.strerror or str(error))
        raise SettingsError(f"cannot use directory {path}: {cause}", resolution="choose a path of your own") from None
    try:
        found = os.fstat(handle)
    finally:
        os.close(handle)
    if found.st_uid != os.geteuid():
        raise SettingsError(
            f"cannot use directory {path}: it belongs to uid {found.st_uid}", resolution="choose a path of your own"
        )
    if found.st_mode & 0o077:
        raise SettingsError(f"cannot use directory {path}: other users may enter it", resolution=f"chmod 700 {path}")
    return path


def _xdg(variable: str, fallback: str) -> Path:
    """A base directory; the XDG rules say that a relative value is ignored."""
    value = os.environ.get(variable, "")
    return Path(value) if value.startswith("/") else Path.home() / fallback


def _setting_name(location: tuple[int | str, ...]) -> str:
    """The name a person set: the variable where there is one, with the table's key behind it."""
    head, *rest = [str(part) for part in location] or ["?"]
    name = head if head.isupper() else f"RUNNER_{head.upper()}"
    if head not in Settings.model_fields and not head.isupper():
        name = head
    return ".".join([name, *rest])


def _read_config(path: Path) -> JsonObject:
    if not path.exists() and not path.is_symlink():
        return {}
    text = read_private(path, setting="config.toml", mask=0o022)
    try:
        found: JsonObject = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"cannot read {path}: {error}", resolution="correct the line it names") from None
    if "notify" in found and path.stat().st_mode & 0o077:
        raise SettingsError(
            f"cannot use config.toml: [notify] holds secrets and other users read {path}", resolution=f"chmod 600 {path}"
        )
    return found


def read_private(path: Path, *, setting: str, mask: int) -> str:
    """The text of a file that gives power: ours or root's, and not open to others by `mask`.

    Raises:
        SettingsError: It cannot be read, or others control or read it; names `setting`.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(handle, encoding="utf-8") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise SettingsError(f"cannot use {setting}: {path} is no regular file")
            if found.st_uid not in {os.geteuid(), 0} or found.st_mode & mask:
                raise SettingsError(f"cannot use {setting}: other users control or read {path}", resolution=f"chmod 600 {path}")
            return file.read(1024 * 1024)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot use {setting}: {path}: {error}", resolution="check the path and its permissions") from None
