"""Profiles as text: what is accepted, what is refused and how it is said."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ProfileError
from runner.model import ApprovalSettings, Example, Limits, Policy, Profile, SnapshotLimits, ToolScope, Verdict
from runner.profiles import HIDE_DEFAULTS, from_json, json_schema, load, parse, profile_digest
from runner.profiles.load import MAX_FILE

BASE = Path("/srv/profiles")
MINIMAL = """
name = "scribe"
description = "Reads a folder"
kind = "claude-sdk"
model = "claude-sonnet-4-5"
system_prompt = "You summarise."
cwd = "/srv/agents/scribe"
tools = ["Read", "Write"]
"""


def refused(text: str, **options: Any) -> ProfileError:
    """The error a text meets."""
    with pytest.raises(ProfileError) as caught:
        parse(text, base=BASE, name_hint="scribe.toml", **options)
    assert caught.value.exit_code == 2
    assert caught.value.resolution
    return caught.value


def test_a_minimal_profile_has_every_default() -> None:
    """Cli.md profile; no policy: the owner's own default."""
    profile = parse(MINIMAL, base=BASE)

    assert profile == Profile(
        name="scribe",
        digest=profile_digest(profile),
        description="Reads a folder",
        kind="claude-sdk",
        model="claude-sonnet-4-5",
        system_prompt="You summarise.",
        cwd=Path("/srv/agents/scribe"),
        tools=("Read", "Write"),
        strict=True,
        policy=None,
        hide=HIDE_DEFAULTS,
    )


def test_a_whole_profile_means_what_it_says() -> None:
    text = """
schema = 1
name = "a-1"
description = "d"
kind = "claude-sdk"
model = "m"
system_prompt = "p"
cwd = "/srv/a/"
tools = ["Read", "Write(out/**, !out/raw/**)", "Write(!**/*.sh)", "mcp__github__read_diff"]
strict = false
policy = "skip"
unattended = true
contacts = ["alice", "bob"]
wake = false
allow_replies = true
allow_unconfined_tools = true
allow_hard_links = true
read = ["docs/**"]
hide = ["*.bak", "!.env.example"]
unprotect = [".github"]
[snapshot]
max_bytes = "1GiB"
max_files = 7
[limits]
memory = "512MiB"
cpus = 2
pids = 64
turns = 3
wall = "2h"
calls = 9
budget_usd = 0.5
budget_tokens = 1000
[approvals]
hold = "0s"
expires = "1d"
on_expiry = "stop"
on_denial = "stop"
required = 2
[[examples]]
tool = "Read"
input = { file_path = "docs/é.txt" }
expect = "allow"
"""
    profile = parse(text, base=BASE)

    assert profile == Profile(
        name="a-1",
        digest=profile_digest(profile),
        description="d",
        kind="claude-sdk",
        model="m",
        system_prompt="p",
        cwd=Path("/srv/a"),
        tools=("Read", "Write", "mcp__github__read_diff"),
        scopes=(ToolScope(tool="Write", only=("out/**",), never=("out/raw/**",)), ToolScope(tool="Write", never=("**/*.sh",))),
        strict=False,
        policy=Policy.SKIP,
        unattended=True,
        contacts=("alice", "bob"),
        wake=False,
        allow_replies=True,
        allow_unconfined_tools=True,
        allow_hard_links=True,
        read=("docs/**",),
        hide=("*.bak", "!.env.example", *HIDE_DEFAULTS),
        unprotect=(".github",),
        snapshot=SnapshotLimits(max_bytes=1024**3, max_files=7),
        limits=Limits(
            memory=512 * 1024**2, cpus=2.0, pids=64, turns=3, wall=7200.0, calls=9, budget_usd=0.5, budget_tokens=1000
        ),
        approvals=ApprovalSettings(hold=0.0, expires=86400.0, on_expiry="stop", on_denial="stop", required=2),
        examples=(Example(tool="Read", raw='{"file_path": "docs/é.txt"}', expect=Verdict.ALLOW),),
    )


def test_the_authors_own_patterns_cannot_uncover_the_default_set() -> None:
    uncovering = parse(MINIMAL + 'hide = [".env*", "!.env.local", "x"]', base=BASE)
    dropping = parse(MINIMAL + 'hide = ["x"]\nhide_defaults = false', base=BASE)

    assert uncovering.hide == ("!.env.local", "x", *HIDE_DEFAULTS)
    assert dropping.hide == ("x",)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ('colour = "red"', "colour"),
        ("[limits]\nspeed = 1", "limits.speed"),
        ("schema = 2", "schema"),
        ('strict = "false"', "strict"),
        ("strict = 0", "strict"),
        ('policy = "bypassPermissions"', "policy"),
        ('policy = "Ask"', "policy"),
        ('permission_mode = "bypassPermissions"', "permission_mode"),
        ('contacts = "alice"', "contacts"),
        ('contacts = ["alice", "alice"]', "contacts"),
        ("contacts = [1]", "contacts.1"),
        ("read = [1]", "read.1"),
        ('read = ["!"]', "read"),
        ('hide = [""]', "hide.1"),
        ('hide = ["# x"]', "hide"),
        ('unprotect = ["notes.md"]', "unprotect"),
        ('[snapshot]\nmax_bytes = "256MB"', "snapshot.max_bytes"),
        ("[snapshot]\nmax_bytes = 1", "snapshot.max_bytes"),
        ("[snapshot]\nmax_files = 0", "snapshot.max_files"),
        ("[snapshot]\nmax_files = 1.0", "snapshot.max_files"),
        ('[limits]\nwall = "15 m"', "limits.wall"),
        ('[limits]\nwall = "0s"', "limits.wall"),
        ('[limits]\nwall = "-1s"', "limits.wall"),
        ('[limits]\nmemory = "1MiB"', "limits.memory"),
        ("[limits]\ncpus = 0", "limits.cpus"),
        ("[limits]\ncpus = inf", "limits.cpus"),
        ("[limits]\nbudget_usd = nan", "limits.budget_usd"),
        ("[limits]\nturns = true", "limits.turns"),
        ("[approvals]\nrequired = 0", "approvals.required"),
        ('[approvals]\non_expiry = "allow"', "approvals.on_expiry"),
        ('[approvals]\non_denial = "deny"', "approvals.on_denial"),
        ('system_prompt_file = "x"', "system_prompt"),
        ('[[examples]]\ntool = "Read"\ninput = { file_path = "../x" }\nexpect = "allow"', "examples"),
        ('[[examples]]\ntool = "Read"\ninput = { file_path = "x" }\nexpect = "maybe"', "examples.1.expect"),
        ('[[examples]]\ntool = "Read"\ninput = { at = 1979-05-27 }\nexpect = "deny"', "examples"),
        ('[[examples]]\ntool = "Read"\ninput = { at = nan }\nexpect = "deny"', "examples"),
        ('[[examples]]\ntool = "Read"\nexpect = "deny"', "examples.1.input"),
    ],
)
def test_a_wrong_key_is_named(change: str, key: str) -> None:
    """Issue 2 bad input; R45: a bypass is refused whatever it is called."""
    error = refused(MINIMAL + change)

    assert f"cannot use profile scribe.toml: {key}:" in error.brief


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('name = "Scribe"', "name"),
        ('name = "a\\n"', "name"),
        ('name = ""', "name"),
        (f'name = "{"x" * 41}"', "name"),
        ('description = "a\\u001b[2J"', "description"),
        ('kind = "bash"', "kind"),
        ('model = ""', "model"),
        ('system_prompt = " "', "system_prompt"),
        ('system_prompt = "a\\u0000"', "system_prompt"),
        (f'system_prompt = "{"x" * 110_000}"', "system_prompt"),
        ('cwd = "~/agents"', "cwd"),
        ('cwd = "agents"', "cwd"),
        ('cwd = "./agents"', "cwd"),
        ('cwd = ""', "cwd"),
        ('cwd = "/"', "cwd"),
        ('cwd = "//"', "cwd"),
        ('cwd = "/srv/../etc"', "cwd"),
        ('cwd = "/proc/self/fd/8"', "cwd"),
        ('cwd = "/proc/self/cwd"', "cwd"),
        ('cwd = "//proc/self/cwd"', "cwd"),
        ('cwd = "/sys/.."', "cwd"),
        ('cwd = "/dev/shm"', "cwd"),
        ('tools = ["Reed"]', "tools"),
        ('tools = ["read"]', "tools"),
        ('tools = ["Read", "Read"]', "tools"),
        ('tools = ["Task"]', "tools"),
        ('tools = ["Skill"]', "tools"),
        ('tools = ["mcp__runner__Write"]', "tools"),
        ('tools = ["Write("]', "tools"),
        ('tools = ["Write()"]', "tools"),
        ('tools = ["Write(!)"]', "tools"),
        ('tools = ["Write(a,,b)"]', "tools"),
        ('tools = ["Grep(docs/**)"]', "tools"),
        ('tools = ["Bash(ls)"]', "tools"),
        ('tools = ["*"]', "tools"),
        ('tools = "Read"', "tools"),
    ],
)
def test_a_wrong_value_of_a_needed_key_is_named(line: str, key: str) -> None:
    """Case 106; R45; models.md: unknown tools refuse to load."""
    wanted = line.partition(" ")[0]
    text = "\n".join(line if own.startswith(f"{wanted} ") else own for own in MINIMAL.splitlines())

    assert f": {key}" in refused(text).brief


@pytest.mark.parametrize("key", ["name", "description", "kind", "model", "system_prompt", "cwd", "tools"])
def test_a_missing_key_is_named(key: str) -> None:
    text = "\n".join(line for line in MINIMAL.splitlines() if not line.startswith(f"{key} "))

    assert key in refused(text).brief


def test_every_problem_is_told_at_once_with_its_line() -> None:
    """Issue 4 item 5."""
    error = refused(MINIMAL.replace("tools =", "colour = 1\ntools =") + '[limits]\nturns = "x"\nwall = 1\n')

    assert (error.details or "").splitlines() == [
        "scribe.toml:11: limits.turns: input should be a valid integer",
        "scribe.toml:12: limits.wall: input should be a valid string",
        "scribe.toml:8: colour: there is no such key",
    ]


def test_a_misspelt_tool_gets_a_hint() -> None:
    assert "did you mean Write?" in refused(MINIMAL.replace('"Write"', '"Wite"')).brief
    assert "did you mean Read?" in refused(MINIMAL.replace('"Read"', '"READ"')).brief


@pytest.mark.parametrize(
    ("change", "key", "asked"),
    [
        ("privileged = true", "privileged", "privileges"),
        ('cap_add = ["SYS_ADMIN"]', "cap_add", "privileges"),
        ('security_opt = ["seccomp=unconfined"]', "security_opt", "privileges"),
        ("user = 0", "user", "privileges"),
        ('devices = ["/dev/kvm"]', "devices", "devices"),
        ('network = "host"', "network", "a network"),
        ("[network]\nallow = ['example.com']", "network", "a network"),
        ('ports = ["8080:80"]', "ports", "a network"),
        ('mounts = ["/:/host"]', "mounts", "mounts"),
        ('[[mounts]]\nsource = "/"', "mounts", "mounts"),
        ('volumes = ["/etc:/etc"]', "volumes", "mounts"),
        ('"host paths" = ["/etc"]', "host paths", "host paths"),
        ('host_paths = ["/etc"]', "host_paths", "host paths"),
        ('[snapshot]\npaths = ["/etc"]', "snapshot.paths", "host paths"),
        ('additional-directories = ["/etc"]', "additional-directories", "host paths"),
        ('sockets = ["/run/docker.sock"]', "sockets", "sockets"),
        ("docker_sock = true", "docker_sock", "sockets"),
        ('pid = "host"', "pid", "namespaces"),
        ("[limits]\nulimits = 1", "limits.ulimits", "namespaces"),
        ('env = { HOME = "/root" }', "env", "variables or secrets"),
        ('image = "debian"', "image", "another image"),
    ],
)
def test_a_profile_that_asks_for_what_none_can_have_is_told_so(change: str, key: str, asked: str) -> None:
    """M1, G5, case 106; issue 7 bad input: privileges, devices, a network, mounts, host paths, sockets."""
    error = refused(MINIMAL + change)

    assert f"{key}: a profile cannot ask for {asked}" in error.brief
    assert "no such key" not in error.brief


@pytest.mark.parametrize("text", ["x", "name = ", "= 1", "a" * (MAX_FILE + 1), "a = [" * 5000, "name = 1\nname = 2", "\ud800"])
def test_what_is_no_toml_is_refused(text: str) -> None:
    refused(text)


# --- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["missing", "directory", "pipe", "large", "binary", "nul"])
def test_a_file_that_cannot_be_read_is_refused_with_a_hint(kind: str, tmp_path: Path) -> None:
    """Issue 2 bad input."""
    path = tmp_path / "x.toml"
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "large":
            path.write_text(MINIMAL + "#" * MAX_FILE)
        case "binary":
            path.write_bytes(b"\xff\xfe")
        case "nul":
            path = Path("x\0y")

    with pytest.raises(ProfileError) as caught:
        load(path)

    assert str(path) in caught.value.brief
    assert caught.value.resolution


def test_a_prompt_may_stand_in_a_file_beside_the_profile(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("You read.")
    text = MINIMAL.replace('system_prompt = "You summarise."', 'system_prompt_file = "prompt.md"')

    assert parse(text, base=tmp_path).system_prompt == "You read."


@pytest.mark.parametrize("name", ["../prompt.md", "/etc/hostname", "~/prompt.md", "missing.md", "a/../../b"])
def test_a_prompt_file_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    text = MINIMAL.replace('system_prompt = "You summarise."', f'system_prompt_file = "{name}"')

    with pytest.raises(ProfileError, match="system_prompt_file"):
        parse(text, base=tmp_path)


# --- digest, stored form, schema ------------------------------------------------------------------------------------------


def test_the_schema_describes_every_key() -> None:
    """Cli.md `profile schema`."""
    schema: Any = json_schema()

    assert schema["additionalProperties"] is False
    assert {"schema", "name", "tools", "limits", "examples"} <= schema["properties"].keys()
    for table in (schema, *schema["$defs"].values()):
        assert all("description" in field or "$ref" in field for field in table["properties"].values())


def test_a_stored_form_that_is_none_is_refused() -> None:
    from runner.profiles import to_json

    good = to_json(parse(MINIMAL, base=BASE))
    wrong: list[dict[str, Any]] = [
        {},
        {**good, "strict": "no"},
        {**good, "strict": None},
        {**good, "tools": "Read"},
        {**good, "policy": "bypass"},
        {**good, "colour": 1},
        {**good, "limits": {"memory": 1, "colour": 2}},
        {**good, "limits": {"turns": "x"}},
        {key: value for key, value in good.items() if key != "cwd"},
    ]

    for document in wrong:
        with pytest.raises(ProfileError):
            from_json(document)


def test_a_stored_form_of_an_older_version_keeps_its_digest() -> None:
    """A later version adds a key: what is stored without it is read with the default and is still the same version."""
    from runner.digest import digest_json
    from runner.profiles import to_json

    new = to_json(parse(MINIMAL, base=BASE))
    old = {key: value for key, value in new.items() if key not in ("unprotect", "digest")}

    profile = from_json(old)

    assert profile.unprotect == ()
    assert profile.digest == digest_json("runner.profile.v1", old)
