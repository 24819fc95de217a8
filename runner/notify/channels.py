"""The one door to Apprise: a URL of the operator's as a channel (C1). Nothing of the URL but its scheme is ever shown.

Apprise is asked for plain text, follows no redirect, loads no plugin from disk and keeps nothing there.
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Sequence
from contextlib import suppress

from apprise import Apprise, AppriseAsset, NotifyBase, NotifyFormat
from apprise.exception import AppriseException

from runner.errors import SettingsError
from runner.notify.sending import Undelivered
from runner.notify.words import Message

#: What these say may hold a URL with its token.
_TALKATIVE = ("apprise", "requests", "urllib3")


class AppriseChannel:
    """A place that Apprise knows how to reach."""

    def __init__(self, name: str, plugin: NotifyBase) -> None:
        self.name = name
        self._plugin = plugin

    def send(self, message: Message) -> None:
        """Hand it over.

        Raises:
            Undelivered: It was not taken.
        """
        try:
            taken = self._plugin.notify(body=message.text, title=message.title, body_format=NotifyFormat.TEXT)
        except (AppriseException, TypeError, ValueError, OSError) as error:
            raise Undelivered(type(error).__name__) from None
        if not taken:
            raise Undelivered("it was not taken")


def apprise_channels(urls: Sequence[str]) -> tuple[AppriseChannel, ...]:
    """The channels of these URLs, in their order.

    Raises:
        SettingsError: One is none that Apprise knows; says which, and not what it is.
    """
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    asset = AppriseAsset(
        plugin_paths=[], secure_logging=True, interpret_escapes=False, interpret_emojis=False, http_redirects=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Apprise loads every service it knows to find the one that is wanted
        return tuple(_channel(number, url, asset) for number, url in enumerate(urls, start=1))


def _channel(number: int, url: str, asset: AppriseAsset) -> AppriseChannel:
    plugin = None
    with suppress(AppriseException, TypeError, ValueError):
        plugin = Apprise.instantiate(url, asset=asset, suppress_exceptions=True)
    if not isinstance(plugin, NotifyBase):
        raise SettingsError(
            f"cannot use setting RUNNER_NOTIFY.urls: number {number} is no URL that Apprise knows",
            resolution="compare it with Apprise's list of services; a token in it may need quoting",
        )
    return AppriseChannel(name_of(url), plugin)


def name_of(url: str) -> str:
    """A channel's name in rows and on screens: its scheme, and a few digits that tell two of one scheme apart."""
    scheme = "".join(char for char in url.partition(":")[0].lower() if char.isascii() and char.isalnum())[:20]
    return f"{scheme or 'channel'}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
