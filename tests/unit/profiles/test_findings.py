"""What is said of a profile before it is published."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from runner.model import ApprovalSettings, Policy, Profile, ToolScope
from runner.profiles import HIDE_DEFAULTS, Finding, Level, Survey, check, survey
from tests.helpers.builders import a_profile

CWD = Path("/srv/agents/scribe")
SEEN = Survey(found=True, real=CWD, files=3, size=2 * 1024**2)


def a_checked(**changes: Any) -> Profile:
    """A profile about which there is nothing to say."""
    return a_profile(hide=HIDE_DEFAULTS, **changes)


def serious(profile: Profile, seen: Survey = SEEN, **options: Any) -> list[tuple[str, str, str]]:
    """Errors and warnings: level, key and the first word that matters."""
    findings = check(profile, surveyed=seen, **options)
    return [(one.level.value, one.key, one.message) for one in findings if one.level is not Level.NOTE]


def test_of_a_good_profile_only_who_can_read_what_is_said() -> None:
    """Design.md §2."""
    assert check(a_checked(contacts=("alice",)), surveyed=SEEN) == (
        Finding(level=Level.NOTE, key="read", message="the owner's runs can read 3 files (2.0 MiB)"),
        Finding(level=Level.NOTE, key="contacts", message="captures of alice can make the agent read 3 files (2.0 MiB)"),
    )


@pytest.mark.parametrize("tool", ["Bash", "WebFetch", "FetchPage", "WebSearch", "RunCode", "BrowserOpen", "mcp__github__post"])
def test_an_unconfined_tool_refuses_publishing_unless_allowed_and_is_named_either_way(tool: str) -> None:
    """R51-R53."""
    without = serious(a_checked(tools=("Read", tool)))
    allowed = serious(a_checked(tools=("Read", tool), allow_unconfined_tools=True))

    assert [(level, key) for level, key, message in without if "unconfined" in message and tool in message] == [
        ("error", "tools")
    ]
    assert [(level, key) for level, key, message in allowed if "unconfined" in message and tool in message] == [
        ("warning", "tools")
    ]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"strict": False}, "strict"),
        ({"allow_replies": True}, "allow_replies"),
        ({"policy": Policy.SKIP}, "policy"),
        ({"allow_hard_links": True}, "allow_hard_links"),
        ({"unprotect": (".github",)}, "unprotect"),
        ({"tools": ("Read", "CreateDocument")}, "tools"),
        ({"scopes": (ToolScope(tool="Write", only=("a",)), ToolScope(tool="Write", only=("b",)))}, "tools"),
    ],
)
def test_a_setting_that_loosens_is_warned_of(change: dict[str, Any], key: str) -> None:
    """R63, R64."""
    assert [(level, found) for level, found, _ in serious(a_checked(**change))] == [("warning", key)]


def test_a_default_set_that_is_not_hidden_is_warned_of() -> None:
    assert [(level, key) for level, key, _ in serious(a_profile(hide=(".env*",)))] == [("warning", "hide")]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (Survey(found=False, real=CWD), ("error", "cwd")),
        (Survey(found=True, real=CWD, unfit="it leads to /etc"), ("error", "cwd")),
        (Survey(found=True, real=CWD, homes=(CWD,)), ("error", "cwd")),
        (Survey(found=True, real=CWD, linked=True), ("error", "cwd")),
        (Survey(found=True, real=CWD, worktree=True), ("warning", "cwd")),
        (Survey(found=True, real=CWD, files=50_001), ("error", "snapshot")),
        (Survey(found=True, real=CWD, size=256 * 1024**2 + 1), ("error", "snapshot")),
        (Survey(found=True, real=CWD, likely_secrets=("a/token.txt",)), ("warning", "hide")),
    ],
)
def test_a_directory_that_is_no_dedicated_one_is_told(seen: Survey, expected: tuple[str, str]) -> None:
    """R62, case 106."""
    assert [(level, key) for level, key, _ in serious(a_checked(), seen)] == [expected]


@pytest.mark.parametrize(
    ("cwd", "told"),
    [("/srv/agents/scribe", True), ("/srv/agents", True), ("/srv/agents/scribe/sub", True), ("/srv/agents/scribe-2", False)],
)
def test_a_directory_shared_with_another_agent_is_told(cwd: str, told: bool) -> None:
    """R62."""
    other = a_profile(name="other", cwd=Path(cwd))

    assert bool(serious(a_checked(), others=[other])) is told
    assert serious(a_checked(), others=[a_profile(cwd=Path(cwd))]) == []


def test_errors_come_first() -> None:
    findings = check(a_checked(strict=False, tools=("Bash",)), surveyed=Survey(found=False, real=CWD))

    levels = [finding.level for finding in findings]
    assert levels == sorted(levels, key=list(Level).index)
    assert levels[0] is Level.ERROR


def test_a_survey_counts_what_would_be_copied(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.txt").write_text("12345")
    (tmp_path / "docs/api_token.txt").write_text("1")
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "link").symlink_to("docs")
    (tmp_path / "broken").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "pipe")
    os.link(tmp_path / "docs/a.txt", tmp_path / "twin.txt")
    (tmp_path / ".git").mkdir()
    profile = a_checked(cwd=tmp_path)

    assert survey(profile) == Survey(
        found=True,
        real=tmp_path,
        worktree=True,
        files=1,
        size=1,
        hidden=1,
        special=3,
        hard_links=2,
        likely_secrets=("docs/api_token.txt",),
        left_out=(".env",),
    )


@pytest.mark.parametrize(
    "name",
    ["a.key", "b.kdbx", ".npmrc", ".pypirc", ".aws/config", "credentials.json", "id_ed25519.txt", ".ssh/config", "x.tfstate"],
)
def test_a_file_named_like_a_secret_is_named_to_the_author(name: str, tmp_path: Path) -> None:
    """Issue 4 item 5: by name, or by the folder it lies in."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("x")
    assert survey(a_profile(cwd=tmp_path)).likely_secrets == (name,)


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----\n", True),
        ("-----BEGIN PRIVATE KEY-----\n", True),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n", True),
        ("bag attributes\n-----BEGIN EC PRIVATE KEY-----\n", True),
        ("-----BEGIN CERTIFICATE-----\n", False),
        ("notes about BEGIN PRIVATE KEY\n", False),
        ("", False),
    ],
)
def test_a_private_key_is_known_by_its_head_whatever_its_name(head: str, found: bool, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(head)
    assert survey(a_checked(cwd=tmp_path)).likely_secrets == (("notes.txt",) if found else ())


def test_a_public_key_is_no_secret_and_a_hidden_one_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "deploy_token.pub").write_text("ssh-ed25519 AAAA")
    (tmp_path / "a.pem").write_text("-----BEGIN PRIVATE KEY-----")
    seen = survey(a_checked(cwd=tmp_path))
    assert (seen.likely_secrets, seen.left_out) == ((), ("a.pem",))


def test_every_error_and_warning_says_what_to_do_about_it() -> None:
    """Issue 4 item 5: a fix with each."""
    profile = a_profile(
        strict=False, allow_replies=True, policy=Policy.SKIP, unprotect=(".github",), tools=("Bash", "CreateFolder", "Write")
    )
    seen = Survey(
        found=True, real=CWD, unfit="it leads to /", homes=(CWD,), worktree=True, files=10**9, likely_secrets=("a.key",)
    )
    found = [one for one in check(profile, surveyed=seen, others=(a_profile(name="other"),)) if one.level is not Level.NOTE]
    assert len(found) > 12
    assert [one for one in found if not one.fix] == []


def test_a_survey_of_a_home_or_nothing_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people/ann").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "people/ann"))

    assert survey(a_checked(cwd=tmp_path / "people/ann")).homes == (tmp_path / "people/ann",)
    assert survey(a_checked(cwd=tmp_path / "people")).homes == (tmp_path / "people/ann",)
    assert survey(a_checked(cwd=tmp_path / "missing")) == Survey(found=False, real=tmp_path / "missing")


def test_a_survey_of_a_link_says_so(tmp_path: Path) -> None:
    """Issue 7: what a link leads to can be changed after the profile was looked at."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert survey(a_checked(cwd=tmp_path / "link")).linked
    assert not survey(a_checked(cwd=tmp_path / "real")).linked
    assert serious(a_checked(), Survey(found=True, real=CWD, linked=True))[0][0] == "error"


def test_a_survey_stops_at_its_cap(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / str(number)).write_text("")

    seen = survey(a_checked(cwd=tmp_path), cap=2)

    assert (seen.files, seen.complete) == (2, False)
    assert "more than 2 files" in check(a_checked(cwd=tmp_path), surveyed=seen)[0].message


@pytest.mark.parametrize(
    ("required", "keys", "refused"), [(1, 0, False), (2, 0, True), (2, 1, True), (2, 2, False), (2, None, False)]
)
def test_more_approvers_than_keys_are_refused(required: int, keys: int | None, refused: bool) -> None:
    """D5: nobody could ever give the last yes. Where the number of keys is not known, the supervisor says."""
    profile = a_checked(approvals=ApprovalSettings(required=required))
    found = [finding for finding in check(profile, surveyed=SEEN, keys=keys) if finding.key == "approvals.required"]
    assert [finding.level for finding in found] == ([Level.ERROR] if refused else [])
