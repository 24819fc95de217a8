"""From the operator's settings to a notifier. Apprise is loaded only where there is a URL for it: it brings much along."""

from __future__ import annotations

from collections.abc import Callable

from runner.model import make_id
from runner.notify.sending import Channel
from runner.notify.timing import timing
from runner.notify.webhook import Webhook
from runner.notify.worker import Notifier
from runner.setting_tables import Notify
from runner.store import Store


def make_notifier(wishes: Notify, *, store: Store, clock: Callable[[], float], entropy: Callable[[int], bytes]) -> Notifier:
    """The notifier of these settings.

    Raises:
        SettingsError: A URL is none that Apprise knows.
    """
    when = timing(wishes.settle, wishes.quiet, wishes.digest)
    return Notifier(store, _channels(wishes, clock), timing=when, clock=clock, new_key=lambda: make_id("n", entropy(10)))


def _channels(wishes: Notify, clock: Callable[[], float]) -> tuple[Channel, ...]:
    channels: list[Channel] = []
    if wishes.urls:
        from runner.notify.channels import apprise_channels  # noqa: PLC0415 -- see above

        channels += apprise_channels([url.get_secret_value() for url in wishes.urls])
    if wishes.webhook is not None:
        hook = wishes.webhook
        channels.append(Webhook(hook.url.get_secret_value(), secret=hook.secret.get_secret_value(), clock=clock))
    return tuple({channel.name: channel for channel in channels}.values())
