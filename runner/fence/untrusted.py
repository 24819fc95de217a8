"""A text that cannot slip into a prompt by accident, the one that may be a prompt, and the error of a broken fence (F1)."""

from __future__ import annotations

from typing import NewType, NoReturn

from runner.errors import RunnerError

#: What may be said to a model as it stands: made by `compose` once it is proven, or of words that stand in this program.
Fenced = NewType("Fenced", str)


class FenceError(RunnerError):
    """The prompt cannot be fenced, or its proof failed; the run does not start (F5)."""

    code = "fence"


class Untrusted:
    """Text from outside. It cannot be formatted, joined or printed; `raw` is the one way to it, and is easy to search for."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @property
    def raw(self) -> str:
        """The text as received."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Untrusted) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Untrusted, self._text))

    def __len__(self) -> int:
        return len(self._text)

    def __repr__(self) -> str:
        return f"Untrusted({len(self._text)} characters)"

    def __str__(self) -> NoReturn:
        raise TypeError("untrusted text has no str(): put it through the fence")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("untrusted text cannot be formatted: put it through the fence")

    def __add__(self, other: object) -> NoReturn:
        raise TypeError("untrusted text cannot be concatenated: put it through the fence")

    __radd__ = __mod__ = __rmod__ = __add__
