"""What a file would give away, and under which name it may leave and arrive (R26, O1, O2)."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.captures.sharing import MAX_NAME, Live, check, look, named, safe_name
from runner.errors import UsageError

NONCE, ID = "0123456789abcdef0123456789abcdef", "a_0123456789abcdef"
LIVE = Live([NONCE], [ID])


@pytest.mark.parametrize(
    ("data", "kind", "sealed"),
    [
        (b"", "empty", False),
        (b"plain\n", "text", False),
        ("\ufeffmarked".encode(), "text", False),
        ("wide".encode("utf-16"), "text, utf-16", False),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03", "image/png, 2 by 3", True),
        (b"%PDF-1.7", "PDF", True),
        (b"PK\x03\x04", "ZIP archive or office document", True),
        (b"\x1f\x8b\x08", "gzip archive", True),
        (b"\x7fELF", "program", True),
        (b"\xff\xfe\x00", "data of no kind that is known here", True),
        (b"a\0b", "data of no kind that is known here", True),
    ],
)
def test_a_file_is_what_its_bytes_say(data: bytes, kind: str, *, sealed: bool) -> None:
    found = look("x", data, LIVE)
    assert (found.kind, found.sealed, found.warnings) == (kind, sealed, ())


@pytest.mark.parametrize(
    "data",
    [
        NONCE.encode(),
        NONCE.upper().encode(),
        "-".join(NONCE).encode(),
        b"\xff\0" + NONCE.encode("utf-16-be"),
        b"x" * 16_370 + NONCE.encode(),
        b"\x89PNG" + NONCE.encode(),
    ],
)
def test_a_living_fence_is_found_in_any_encoding_that_keeps_its_letters(data: bytes) -> None:
    """O2: also across the pieces in which a text is searched."""
    assert "it holds the fence value of a run" in look("x", data, LIVE).warnings


@pytest.mark.parametrize("data", [ID.encode(), b"\0" + ID.encode("utf-16-le"), b"see a_zzzzzzzzzzzzzzzz"])
def test_an_id_is_found(data: bytes) -> None:
    assert any("id of an approval" in said for said in look("x", data, LIVE).warnings)


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0AWS_SECRET_ACCESS_KEY=abcdefghijklmnop\0\0",
        "pass\u200bword: hunter22".encode(),
        b"x" * 16_370 + b" ghp_0123456789abcdef0123",
    ],
)
def test_a_secret_is_found_in_bytes_behind_hidden_characters_and_at_a_seam(data: bytes) -> None:
    assert "it holds what looks like a secret" in look("x", data, LIVE).warnings


def test_a_picture_with_notes_in_it_says_so() -> None:
    """R26: where and when it was taken leaves with it."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03"
    assert any("place, time, device" in said for said in look("x.png", head + b"....eXIf", LIVE).warnings)


def test_hosts_are_counted_and_only_so_many_are_named() -> None:
    text = "".join(f"https://h{n}.example.org/x\n" for n in range(60)) + "https://h1.example.org/y\n"
    found = look("x", text.encode(), LIVE)
    assert (len(found.hosts), found.more_hosts, found.hosts[1].times) == (40, 20, 2)


@pytest.mark.parametrize("name", ["", " ", ".", "..", "a/b", "a\\b", "a\nb", "a\u200bb", "\x1b", "é" * 101, "\udcff", "\x7f"])
def test_a_name_with_a_path_or_with_what_nobody_sees_cannot_be_shared(name: str) -> None:
    with pytest.raises(UsageError):
        named(name)


@pytest.mark.parametrize("name", ["a.txt", ".env", "Bericht für Jörg.pdf", "报告.docx", "a b", "x" * MAX_NAME])
def test_a_plain_name_can(name: str) -> None:
    assert named(name) == name


def test_names_that_a_file_system_may_take_for_one_are_refused() -> None:
    composed = unicodedata.normalize("NFC", "é")
    for one, other in (("a", "A"), (composed, unicodedata.normalize("NFD", composed)), ("ﬁ", "fi")):
        with pytest.raises(UsageError, match="two files called"):
            check([(one, b""), (other, b"")], "")


@given(st.text(max_size=300))
@example("con")
@example("." * 300)
@example("a" * 199 + "é")
@example("~")
def test_a_name_of_theirs_is_always_one_plain_name_here(name: str) -> None:
    """No path, nothing hidden, nothing that acts; and making it plain twice changes nothing."""
    safe = safe_name(name)
    assert safe
    assert safe == os.path.basename(safe) != ".."  # noqa: PTH119 - the string, not a path
    assert safe[0] not in ".-~ "
    assert safe.isprintable()
    assert "\\" not in safe
    assert len(os.fsencode(safe)) <= MAX_NAME
    assert safe_name(safe) == safe
