"""Captures: what a sender sends, parsed and bounded before anything else looks at it.

Owns the wire form and its bounds. It trusts nothing: the text is data, the images are sniffed by their bytes.
"""

from __future__ import annotations

from runner.captures.bounds import BOUNDS, Bounds
from runner.captures.images import ImageFacts, sniff
from runner.captures.wire import from_json, parse, to_json

__all__ = ["BOUNDS", "Bounds", "ImageFacts", "from_json", "parse", "sniff", "to_json"]
