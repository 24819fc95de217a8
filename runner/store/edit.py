"""What an approver made of a waiting call: the input that is carried out instead of the proposed one (D2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

from runner.model import Digest, Json, ResolvedPath
from runner.store import codec
from runner.store.rows import Approver


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The edited input, bound like a proposed one: its own digests, pre-images, preview; who made it and when."""

    raw: str
    call_digest: Digest
    approval_digest: Digest
    by: Approver
    at: float
    paths: tuple[ResolvedPath, ...] = ()
    pre_images: Mapping[str, Digest | None] = field(default_factory=lambda: MappingProxyType({}))
    post_image: Digest | None = None
    preview: str = ""
    warnings: tuple[str, ...] = ()


def dump(edit: Edit) -> str:
    """An edit as a column."""
    fields: dict[str, Json] = {
        "raw": edit.raw,
        "call_digest": edit.call_digest,
        "approval_digest": edit.approval_digest,
        "by": asdict(edit.by),
        "at": edit.at,
        "paths": codec.dump_paths(edit.paths),
        "pre_images": dict(edit.pre_images),
        "post_image": edit.post_image,
        "preview": edit.preview,
        "warnings": [*edit.warnings],
    }
    return codec.dump(fields)


def load(text: str) -> Edit:
    """The reverse of `dump`; a column that cannot be read raises, which is corruption."""
    fields = json.loads(text)
    return Edit(
        **{
            **fields,
            "by": Approver(**fields["by"]),
            "paths": codec.load_paths(fields["paths"]),
            "pre_images": MappingProxyType(fields["pre_images"]),
            "warnings": tuple(fields["warnings"]),
        }
    )
