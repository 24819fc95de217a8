"""What is asked of every hostile text: does the block hold, is the screen true, is nothing let through unasked.

The judges read documented forms with code of their own, not with the code they judge. Each answers with what is wrong, or None.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import pyte

from runner.digest import parse_call
from runner.fence import FIELDS, compose, cut_raw, hidden_counts
from runner.fence.untrusted import FenceError
from runner.model import WORKSPACE, Capture, Json, JsonObject, Policy, Profile, Sender, SenderKind, Verdict
from runner.policy import PolicyContext, decide
from runner.render import show_block
from tests.helpers.builders import a_profile
from tests.helpers.policy import VIEW, a_context

ALICE = Sender(kind=SenderKind.CONTACT, petname="alice", fingerprint="abcd-1234-5678-9abc")
SIZES = ((80, 24), (40, 10))
#: Characters of a text that a terminal draws for the comparison; what is written about all of it is checked for all of it.
DRAWN = 600
#: What may run unasked: reads of what was mounted.
CONFINED = frozenset({"Read", "Glob", "Grep", "ListFiles"})
#: A terminal's page of it.
_PAGE = 20
_NONCES = ("5eed5eed5eed5eed", "c0ffee00c0ffee00", "0ddba11e0ddba11e")
_PIECE = re.compile(r"&(amp|lt|gt);|\\(?:\\|u\{([0-9A-F]{1,6})\})")
_BACK = {"amp": "&", "lt": "<", "gt": ">"}
_KEPT = re.compile("[\u200c\u200d\ufe0e\ufe0f]")
_TOKEN = re.compile(r"\\u\{([0-9a-f]+)(?:×(\d+))?\}|\\\\|␣×(\d+)␣|␣|⏎×(\d+)⏎\n|.|\n", re.DOTALL)  # noqa: RUF001 - its mark


def fence_fault(capture: Capture, sender: Sender = ALICE) -> str | None:
    """What is wrong with the prompt of a capture (F3, F5), read by twenty lines that share nothing with the fence."""
    try:
        prompt = compose(capture, sender, draw=iter(_NONCES).__next__)
    except FenceError as error:
        return f"it cannot be fenced: {error}"
    lines = prompt.parts[1].split("\n")
    opened, *body, closed = lines
    if closed != f'</untrusted fence="{prompt.nonce}">' or prompt.text.count(prompt.nonce) != 2:
        return "the block is not closed once, by its own marker"
    if (
        re.fullmatch(
            rf'<untrusted source="capture"( (sender|kind|via|truncated|bytes)="[^"<>&\\]+")+ fence="{prompt.nonce}">', opened
        )
        is None
    ):
        return "the opening marker is not of its form"
    text = "\n".join(body)
    if set("<>\r\v\f\x1b\x85\u2028\u2029") & set(text) or hidden_counts(_KEPT.sub("", text)):
        return "the body holds a bracket or something hidden"
    if any(line[:2] != "│ " for line in body):
        return "a line of the body has no gutter"
    whole = _expected(capture, own=sender.kind is SenderKind.OWNER)
    return None if _is_whole(_read_body(body), whole, opened=opened) else "it does not read back"


def _is_whole(found: Sequence[tuple[str, str]], whole: Sequence[tuple[str, str]], *, opened: str) -> bool:
    """Every field as it came; one that is cut is a start of it, and the marker says by how much (F9)."""
    if [label for label, _ in found] != [label for label, _ in whole]:
        return False
    return all(
        got == text or (text.startswith(got) and f"{label} {len(got)} of {len(text)}" in opened)
        for (label, got), (_, text) in zip(found, whole, strict=True)
    )


def _read_body(body: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for line in body:
        if line.startswith("│ | "):
            label, text = found.pop()
            found.append((label, f"{text}\n{line[4:]}"))
        else:
            label, _, text = line[2:].partition(": ")
            found.append((label, text))
    return [(label, _PIECE.sub(_piece, text)) for label, text in found]


def _piece(found: re.Match[str]) -> str:
    name, code = found.groups()
    return chr(int(code, 16)) if code else _BACK.get(name or "", "\\")


def _expected(capture: Capture, *, own: bool) -> list[tuple[str, str]]:
    texts = [("url", capture.url), ("title", capture.title)]
    texts += [(f"label {at}", label) for at, label in enumerate(capture.labels, 1)]
    texts += [] if own else [("note", capture.note), ("intent", capture.intent)]
    texts += [("text", capture.text), *((f"image {at}", image.name) for at, image in enumerate(capture.images, 1))]
    return [(label, text) for label, text in texts if text]


def a_capture_of(text: str) -> Capture:
    """A page that is this text, within the bound of its field."""
    return Capture(agent="scribe", text=cut_raw(text, FIELDS["text"]))


def screen_fault(text: str, *, columns: int, rows: int) -> str | None:
    """Whether what a person is shown of a text is all of it, and a terminal draws just that (V2, V5)."""
    if _read_shown(show_block(text)) != text:
        return "what is shown does not read back"
    shown = show_block(text[:DRAWN], width=columns)
    if any(not line.startswith(("│ ", "┊ ")) for line in shown):
        return "a line has no gutter"
    page = min(_PAGE, rows - 1)
    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    for start in range(0, len(shown), page):
        part = shown[start : start + page]
        screen.reset()
        stream.feed("\r\n".join(part))
        drawn = [_flat(line) for line in screen.display]
        if drawn != [_flat(line) for line in part] + [""] * (rows - len(part)):
            return "a terminal draws something else"
    return None


def _flat(line: str) -> str:
    """As an emulator keeps it: composed, its blank end away."""
    return unicodedata.normalize("NFC", line).rstrip()


def _read_shown(lines: Sequence[str]) -> str:
    pieces = []
    for found in _TOKEN.finditer("\n".join(line[2:] for line in lines)):
        token = found.group()
        if found.group(1):
            pieces.append(chr(int(found.group(1), 16)) * int(found.group(2) or 1))
        elif token == "\\\\":
            pieces.append("\\")
        elif token[0] in "␣⏎" and token != "␣":
            pieces.append((" " if token[0] == "␣" else "\n") * int(found.group(3) or found.group(4)))
        else:
            pieces.append(" " if token == "␣" else token)
    return "".join(pieces)


def contexts() -> Iterator[tuple[str, Profile, PolicyContext]]:
    """Every strict, escalated and unattended state that a run can be in, each as loose as settings can make it."""
    loose = {"allow_unconfined_tools": True, "policy": Policy.SKIP, "tools": TOOLS}
    for kind in SenderKind:
        yield f"strict {kind.value}", a_profile(strict=True, **loose), a_context(sender=kind, owner_policy=Policy.SKIP)
    tainted = a_context(tainted=True, owner_policy=Policy.SKIP)
    yield "escalated", a_profile(strict=False, **loose), tainted
    alone = a_context(tainted=True, owner_policy=Policy.SKIP, reachable_person=False)
    yield "unattended", a_profile(strict=False, **loose), alone


TOOLS = (
    *("Read", "Glob", "Grep", "Write", "Edit", "CreateFolder", "Bash", "WebFetch", "WebSearch"),
    *("mcp__mail__send", "mcp__bench__do"),
)


def release_fault(tool: str, arguments: Json, *, profile: Profile, context: PolicyContext) -> str | None:
    """Whether a call would run unasked though it is more than a read of what was mounted."""
    decision = decide(parse_call(tool, json.dumps(arguments)), profile, context)
    if decision.verdict is not Verdict.ALLOW:
        return None
    if tool not in CONFINED:
        return f"{tool} would run unasked"
    outside = [path for path in decision.paths if not _mounted(path.resolved)]
    return f"{tool} would read {outside[0].resolved}" if outside else None


def _mounted(path: PurePosixPath) -> bool:
    return path.is_relative_to(WORKSPACE) and ".." not in path.parts


def uses_of(text: str) -> list[tuple[str, JsonObject]]:
    """A hostile text as the input of every kind of call, and as the name of a tool."""
    return [
        ("Write", {"file_path": "x.txt", "content": text}),
        ("Write", {"file_path": text, "content": "x"}),
        ("Edit", {"file_path": "in.txt", "old_string": "a", "new_string": text}),
        ("Read", {"file_path": text}),
        ("Bash", {"command": text}),
        ("WebFetch", {"url": text, "prompt": text}),
        ("WebSearch", {"query": text}),
        ("mcp__bench__do", {"what": text}),
        (text, {"file_path": "in.txt"}),
    ]


__all__ = ["ALICE", "SIZES", "VIEW", "a_capture_of", "contexts", "fence_fault", "release_fault", "screen_fault", "uses_of"]
