"""What `get` does with shares: list what is there for this key, and put the files of one into a folder."""

from __future__ import annotations

from pathlib import Path

from runner.api.collecting import Collector, Offer
from runner.api.courier import Courier
from runner.captures.sharing import safe_name
from runner.cli.saving import Folder
from runner.cli.shared import now
from runner.errors import UsageError
from runner.model import Json, JsonObject
from runner.render import Screen, Styled
from runner.render.shares import show_offers
from runner.render.values import size

#: What the id of a share begins with.
PREFIX = "s_"


def fetch_shares(screen: Screen, courier: Courier, share: str | None, *, out: Path | None) -> None:
    """List what can be fetched, or show one share, or fetch it.

    Args:
        screen: Where.
        courier: The connection, with the contact's key.
        share: Its whole id; None: all there are.
        out: The folder it goes to; None: nothing is fetched.
    """
    collector = Collector(courier)
    if share is None or out is None:
        offers = collector.offers() if share is None else (collector.offer(share),)
        views = [_view(one) for one in offers]
        if screen.json:
            screen.document({"shares": [*views]} if share is None else views[0])
            return
        show_offers(screen, views, now=now())
        for one in offers:
            screen.progress(Styled(f"runner get {one.share} --to URL --out DIR", "bold"), " fetches it")
        return
    offer = collector.offer(share)
    _fetch(screen, collector, offer, out=out)


def _fetch(screen: Screen, collector: Collector, offer: Offer, *, out: Path) -> None:
    """Every file of a share, or none: what cannot be written is seen before a byte is asked for."""
    names = [safe_name(file.name) for file in offer.files]
    if len({name.casefold() for name in names}) < len(names):
        raise UsageError(
            f"cannot save {offer.share}: two of its files would have one name here",
            resolution="ask whoever shared them to rename one and share it again",
        )
    with Folder(out) as folder:
        there = [folder.has(name, size=file.size, digest=file.digest) for file, name in zip(offer.files, names, strict=True)]
        for file, name, known in zip(offer.files, names, there, strict=True):
            if not known:
                screen.progress(f"fetching {size(file.size)}: ", Styled(name, "cyan"))
                folder.put(name, collector.pieces(offer, file), digest=file.digest)
    if screen.json:
        screen.document(_view(offer) | {"saved": [*names], "out": str(out)})
        return
    show_offers(screen, [_view(offer)], now=now())
    for name, known in zip(names, there, strict=True):
        screen.say(Styled("was there already " if known else "saved ", "bold green"), Styled(name, "cyan"), f" in {out}")


def _view(offer: Offer) -> JsonObject:
    files: list[Json] = [{"name": one.name, "size": one.size, "digest": one.digest} for one in offer.files]
    return {"share": offer.share, "note": offer.note, "expires": offer.expires, "files": files}
