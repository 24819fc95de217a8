"""Tables of config.toml that belong to one part of the supervisor; `settings` reads them in. Values and checks."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Self, TypedDict

from pydantic import BaseModel, ByteSize, ConfigDict, Field, SecretStr, field_validator, model_validator

_HOUR = r"(?:[01]\d|2[0-3]):[0-5]\d"


class Credentials(TypedDict):
    """Secrets of the model's upstream; at most one is there."""

    key: str | None
    token: str | None


class SignedHook(BaseModel):
    """Where notices are posted, and the secret they are signed with (C4)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: SecretStr
    secret: Annotated[SecretStr, Field(min_length=16)]

    @field_validator("url")
    @classmethod
    def _http(cls, value: SecretStr) -> SecretStr:
        if not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s]*)?", value.get_secret_value()):
            raise ValueError("must be an http(s) URL without credentials")
        return value


class Notify(BaseModel):
    """Whom notices go to and when. Times are this host's own (C1, C4, C6)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    urls: tuple[SecretStr, ...] = ()  #: Apprise's; each is a secret
    settle: Annotated[float, Field(ge=0, le=3600)] = 20.0  #: seconds in which a decision makes a notice needless
    quiet: Annotated[str, Field(pattern=rf"^{_HOUR}-{_HOUR}$")] | None = None  #: such as 22:00-07:00
    digest: tuple[Annotated[str, Field(pattern=rf"^{_HOUR}$")], ...] = ()  #: such as 09:00: nothing but what is urgent between
    webhook: SignedHook | None = None


_ADDRESS = r"^(?:\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9.-]{1,253}):[1-9][0-9]{0,4}$"


class Ingress(BaseModel):
    """Where contacts' captures come in over the network; without `bind`, nowhere (issue 8)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bind: Annotated[str, Field(pattern=_ADDRESS)] | None = None  #: such as 127.0.0.1:8443
    certificate: Path | None = None  #: PEM, the chain above it included
    key: Path | None = None  #: PEM; private
    public_url: Annotated[str, Field(pattern=r"^https?://[a-z0-9.:\[\]-]{1,260}$")] | None = None  #: as senders write it
    behind_proxy: bool = False  #: a proxy in front speaks TLS
    per_hour: Annotated[int, Field(ge=1, le=100_000)] = 20  #: captures of one contact
    share_seconds: Annotated[float, Field(gt=0, le=90 * 86_400)] = 7 * 86_400.0  #: for which a share can be fetched

    @model_validator(mode="after")
    def _safe(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key go together")
        if self.bind is None:
            return self
        loopback = self.host == "localhost" or _is(self.host, "is_loopback")
        if not loopback and self.certificate is None and not self.behind_proxy:
            raise ValueError("beyond this machine it wants certificate and key, or behind_proxy = true")
        if self.public_url is None and (self.behind_proxy or _is(self.host, "is_unspecified")):
            raise ValueError("public_url is missing: what senders sign names the address they use")
        return self

    @property
    def host(self) -> str:
        """The address it listens on."""
        return (self.bind or "").rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int((self.bind or ":0").rpartition(":")[2])

    @property
    def origin(self) -> str:
        """Scheme, name and port as senders write them."""
        return (self.public_url or f"{'http' if self.certificate is None else 'https'}://{self.bind}").lower()


def _is(host: str, what: str) -> bool:
    try:
        return bool(getattr(ip_address(host), what))
    except ValueError:
        return False


class DayBudget(BaseModel):
    """What may be spent on one UTC day; absent: as much as there is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    usd: Annotated[float, Field(ge=0, le=10_000_000)] | None = None
    tokens: Annotated[int, Field(ge=0, le=10**13)] | None = None


class DayBudgets(BaseModel):
    """Budgets of a day (M11): of each agent, of each contact, of everybody together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: DayBudget = DayBudget()
    contact: DayBudget = DayBudget()
    day: DayBudget = DayBudget()


class ModelPrice(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Annotated[float, Field(gt=0, le=100_000)]
    output: Annotated[float, Field(gt=0, le=100_000)]


class Pool(BaseModel):
    """Containers that are started before they are asked for (M12)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: Annotated[int, Field(ge=0, le=16)] = 1  #: of each agent that is in use; 0: none
    total: Annotated[int, Field(ge=0, le=256)] = 4  #: of all agents together
    max_age: Annotated[float, Field(ge=10, le=86_400)] = 3600.0  #: seconds after which one is made anew


class Host(BaseModel):
    """How much of this machine agents may have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_agents: Annotated[int, Field(ge=1, le=1024)] = 8  #: containers at work at once
    max_per_agent: Annotated[int, Field(ge=1, le=1024)] = 4  #: of one agent
    reserve_memory: ByteSize = ByteSize(512 * 1024 * 1024)  #: what stays free; a run waits rather than take it
    max_load: Annotated[float, Field(gt=0, le=1000)] = 32.0  #: of a minute, for each CPU; above it a run waits
    lease: Annotated[float, Field(ge=3, le=3600)] = 60.0  #: seconds without a sign of life after which another may take over
