"""Which model a supervisor uses, from its one setting `RUNNER_MODEL` (cli.md)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from runner.errors import SettingsError
from runner.gateway.scripted import ScriptedUpstream, read_scripts
from runner.gateway.upstream import HttpUpstream, Patience, is_loopback
from runner.gateway.values import Upstream, UpstreamFactory

_ANTHROPIC = "https://api.anthropic.com"
_FORMS = "RUNNER_MODEL is anthropic, an http(s):// URL of a Messages API, or scripted:FILE"


def make_upstream(
    model: str, *, key: str | None, token: str | None = None, patience: Patience | None = None
) -> UpstreamFactory:
    """The upstream of each agent; HTTP connections are shared among them.

    Args:
        model: `anthropic`, `http(s)://…` or `scripted:FILE`.
        key: The operator's key; never sent in the clear to another machine.
        token: Of an operator who has no key; likewise.
        patience: Timeouts and retries of an HTTP upstream.

    Raises:
        SettingsError: Of no such form, an unusable script, no key for `anthropic`, or a key over plain http.
    """
    kind, _, rest = model.partition(":")
    if kind == "scripted" and rest:
        return _scripted(Path(rest).expanduser())
    if kind in {"http", "https"}:
        return _one(HttpUpstream(_checked(model, key or token), key=key, token=token, patience=patience))
    if model != "anthropic":
        raise SettingsError(f"cannot use the model {model!r}: no such upstream", resolution=_FORMS)
    if not key and not token:
        raise SettingsError(
            "cannot use the model upstream anthropic: there is no key",
            resolution="set ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN or a key file, or RUNNER_MODEL=scripted:FILE",
        )
    return _one(HttpUpstream(_ANTHROPIC, key=key, token=token, patience=patience))


def _scripted(path: Path) -> UpstreamFactory:
    scripts = {agent: ScriptedUpstream(entries) for agent, entries in read_scripts(path).items()}

    def of(agent: str) -> Upstream:
        upstream = scripts.get(agent) or scripts.get(None)
        if upstream is None:
            raise SettingsError(
                f"cannot use the scripted model {path}: it has no script for {agent}",
                resolution=f'add "{agent}" to its "scripts"',
            )
        return upstream

    return of


def _one(upstream: HttpUpstream) -> UpstreamFactory:
    return lambda _agent: upstream


def _checked(url: str, key: str | None) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise SettingsError(f"cannot use the model URL {url!r}: {error}", resolution=_FORMS) from None
    if not host or parts.username or parts.password or parts.query or parts.fragment:
        # The URL may hold a password: it is not repeated.
        raise SettingsError("cannot use the model URL: it needs a host, and no user, query or fragment", resolution=_FORMS)
    if key and parts.scheme == "http" and not is_loopback(host):
        raise SettingsError(
            f"cannot send the model key to {host}: plain http to another machine", resolution="use https, or unset the key"
        )
    return url
