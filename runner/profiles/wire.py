"""A profile as its author writes it (cli.md): the TOML's keys, types and bounds. Unknown keys and coercions are errors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from runner.profiles import units

#: What is never copied into a snapshot unless `hide_defaults = false` (cli.md).
HIDE_DEFAULTS = (".env*", "**/*.pem", "**/id_*", ".git/config", "**/.netrc")
#: The prompt is one argument of a command line, with the fence's rule behind it; Linux refuses one over 128 KiB.
MAX_PROMPT = 100 * 1024

_CONTROL = {*map(chr, range(32)), "\x7f"}


def _one_line(text: str) -> str:
    if _CONTROL & set(text):
        raise ValueError("control characters are not allowed here")
    return text


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL is not allowed here")
    return text


def _within(low: float, high: float, label: str) -> AfterValidator:
    def check(text: str) -> str:
        value = units.seconds(text) if label == "s" else units.byte_count(text)
        if not low <= value <= high:
            raise ValueError(f"must lie between {low:.0f} and {high:.0f} {'seconds' if label == 's' else 'bytes'}")
        return text

    return AfterValidator(check)


Line = Annotated[str, Field(min_length=1, max_length=400), AfterValidator(_one_line)]
Pattern = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_one_line)]
Patterns = Annotated[list[Pattern], Field(max_length=500)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class SnapshotTable(_Table):
    """Caps on what is copied; over one the run does not start."""

    max_bytes: Annotated[str, _within(1, 64 * 1024**3, "B")] = Field(default="256MiB", description="Largest snapshot.")
    max_files: int = Field(default=50_000, ge=1, le=5_000_000, description="Most files in a snapshot.")


class LimitsTable(_Table):
    """What one run may use."""

    memory: Annotated[str, _within(256 * 1024**2, 1024**4, "B")] = Field(default="1GiB", description="Memory; swap is off.")
    cpus: float = Field(default=1.0, gt=0, le=256, description="Processors.")
    pids: int = Field(default=128, ge=32, le=4_096, description="Processes and threads.")
    turns: int = Field(default=40, ge=1, le=10_000, description="Model turns.")
    wall: Annotated[str, _within(1, 7 * 86400, "s")] = Field(default="15m", description="Container time, waiting not counted.")
    calls: int = Field(default=200, ge=1, le=100_000, description="Tool calls.")
    budget_usd: float = Field(default=1.0, ge=0, le=100_000, description="Money.")
    budget_tokens: int = Field(default=200_000, ge=1, le=10**12, description="Tokens.")


class ApprovalsTable(_Table):
    """How long a call may wait, and what silence means."""

    hold: Annotated[str, _within(0, 86400, "s")] = Field(
        default="60s", description="How long the container is kept while calls wait."
    )
    expires: Annotated[str, _within(1, 3650 * 86400, "s")] = Field(
        default="7d", description="When an unanswered call is denied."
    )
    on_expiry: Literal["deny", "stop"] = Field(default="deny", description="Whether expiry denies the call or stops the run.")
    on_denial: Literal["tell", "stop"] = Field(default="tell", description="Whether a person's no is told or stops the run.")
    required: int = Field(default=1, ge=1, le=9, description="How many distinct approvers a call needs.")


class ExampleTable(_Table):
    """A call and the verdict its author expects, checked whenever the profile is loaded."""

    tool: Line = Field(description="The profile's name for the tool.")
    input: dict[str, Any] = Field(description="The input.")
    expect: Literal["allow", "ask", "deny"] = Field(description="The verdict.")


class FromAgentTable(_Table):
    """A paired agent that may send, by the label its contact has."""

    label: Line = Field(description="The label.")
    instruction: Annotated[str, Field(max_length=4000), AfterValidator(_no_nul)] = Field(
        default="", description="Your standing word on what to do with what it sends; stands outside the fence."
    )


class ProfileTable(_Table):
    """A hosted agent."""

    schema_version: Literal[1] = Field(default=1, alias="schema", description="Version of this format.")
    name: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$", description="Name of the agent.")]
    description: Line = Field(description="What the agent is for, in one line.")
    kind: Literal["claude-sdk"] = Field(description="What runs the agent.")
    model: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line)] = Field(description="Model name.")
    system_prompt: Annotated[str, AfterValidator(_no_nul)] | None = Field(
        None, min_length=1, description="Standing instructions."
    )
    system_prompt_file: Line | None = Field(default=None, description="File beside the profile that holds them.")
    cwd: Annotated[str, Field(min_length=1, max_length=4000), AfterValidator(_one_line)] = Field(
        description="Dedicated directory, absolute."
    )
    tools: Annotated[list[Line], Field(max_length=200)] = Field(description="Tools, narrowed by patterns where wanted.")
    strict: bool = Field(default=True, description="Only confined reads run unasked.")
    policy: Literal["ask", "read_only", "skip"] | None = Field(
        None, description="Default for calls that no saved verdict settles; absent: the owner's own default."
    )
    unattended: bool = Field(default=False, description="Nobody will answer: what would ask is denied.")
    contacts: Annotated[list[Line], Field(max_length=1000)] = Field(
        default_factory=list, description="Petnames that may send; empty: the owner only."
    )
    from_agents: Annotated[list[FromAgentTable], Field(max_length=1000)] = Field(
        default_factory=list, description="Paired agents that may send."
    )
    wake: bool = Field(default=True, description="Whether a capture starts a run.")
    allow_replies: bool = Field(default=False, description="Whether replies go out without review.")
    allow_unconfined_tools: bool = Field(default=False, description="Whether it may be published with unconfined tools.")
    allow_hard_links: bool = Field(default=False, description="Whether files with several names are copied.")
    read: Patterns = Field(default_factory=lambda: ["**"], description="What of cwd the agent gets; gitignore patterns.")
    hide: Patterns = Field(default_factory=list, description="What is left out of that; gitignore patterns.")
    hide_defaults: bool = Field(default=True, description="Whether the default set is hidden too.")
    unprotect: Annotated[list[Line], Field(max_length=100)] = Field(
        default_factory=list, description="Protected names, such as .github, that may be written after all."
    )
    snapshot: SnapshotTable = Field(default_factory=SnapshotTable, description="Caps on the snapshot.")
    limits: LimitsTable = Field(default_factory=LimitsTable, description="Bounds of one run.")
    approvals: ApprovalsTable = Field(default_factory=ApprovalsTable, description="Waiting.")
    examples: Annotated[list[ExampleTable], Field(max_length=500)] = Field(
        default_factory=list, description="Calls and the verdicts expected for them."
    )

    @model_validator(mode="after")
    def _one_prompt(self) -> ProfileTable:
        if (self.system_prompt is None) == (self.system_prompt_file is None):
            raise ValueError("give system_prompt or system_prompt_file, one of them")
        return self
