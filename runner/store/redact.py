"""What looks like a secret leaves by no sink: by the name of its field and by its own shape, at any depth (V9, A5). Pure.

The one function for the audit, the log and notices.

Best effort, for the words that people and errors bring along: a call's input is never in the audit to begin with, only its
digest. What is taken out is gone, since the chain is made of what is left.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from runner.model import Json

#: What stands in a secret's place.
REDACTED = "[redacted]"

_NAMES = (
    r"[a-z0-9]{0,20}pass(?:word|wd|phrase)s?|secrets?|(?:auth|access|refresh|session|bearer|api)?[ _-]?token"
    r"|(?:api|access|private|secret|signing)[ _-]?keys?|authori[sz]ation|credentials?|(?:set-)?cookies?"
)
_NAME = re.compile(rf"(?:[a-z0-9]+[ _-])*(?:{_NAMES})", re.IGNORECASE)
#: Each with what of the match is kept.
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, flags), kept)
    for pattern, flags, kept in (
        (r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL, ""),
        (r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", 0, ""),
        (r"\bsk-[\w-]{16,}", 0, ""),
        (r"\b(?:gh[a-z]_|github_pat_|glpat-|npm_|pypi-|xox[a-z]-|hf_)[\w-]{12,}", 0, ""),
        (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", 0, ""),
        (r"\bAIza[\w-]{30,}", 0, ""),
        (r"\b(hooks\.slack\.com/[a-z]+/|discord(?:app)?\.com/api/webhooks/)[\w/-]{10,}", re.IGNORECASE, r"\1"),
        (r"\b\d{6,12}:[A-Za-z0-9_-]{30,}", 0, ""),
        (r"\b(curl\b[^\n|;&]{0,400}\s(?:-u|--user)[ =]?[^\s:]{1,80}:)[^\s]+", 0, r"\1"),
        (r"\b(sshpass\s+-p\s?)\S+", 0, r"\1"),
        (r"\b([A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY)(?:_[A-Z0-9_]*)?=)(?!\[redacted\])[^\s,;&]+", 0, r"\1"),
        (rf"(--?(?:{_NAMES})\s{{1,3}})(?!\[redacted\]|-)(?:\"[^\"]+\"|'[^']+'|[^\s,;]+)", re.IGNORECASE, r"\1"),
        (r"\b(bearer|basic)\s+[\w.~+/=-]{12,}", re.IGNORECASE, r"\1 "),
        (r"(\w://[^\s/:@]{0,80}:)[^\s/@]{1,200}(?=@)", 0, r"\1"),
        (
            rf"\b((?:{_NAMES})[\"']?\s{{0,3}}(?:[=:]|\bis\b)\s{{0,3}})(?!\[redacted\])(?:\"[^\"]+\"|'[^']+'|[^\s,;]+)",
            re.I,
            r"\1",
        ),
    )
)


def redacted(value: Json) -> Json:
    """The value without what looks like a secret; everything else as it was."""
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Mapping):
        return {key: _field(key, one) for key, one in value.items()}
    if isinstance(value, list):
        return [redacted(one) for one in value]
    return value


def _field(key: str, value: Json) -> Json:
    if _NAME.fullmatch(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key)) is None:
        return redacted(value)
    return value if value is None or isinstance(value, bool) else REDACTED


def redacted_text(text: str) -> str:
    """A text without what looks like a secret by its shape."""
    for shape, kept in _SHAPES:
        text = shape.sub(f"{kept}{REDACTED}", text)
    return text
