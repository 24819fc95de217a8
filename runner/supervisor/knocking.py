"""Looks at the network's door for `doorway`: its certificate, and whether anybody takes a connection there.

Sends nobody a request, and asks no other machine.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from runner.model import Json, JsonObject
from runner.setting_tables import Ingress
from runner.supervisor.doorway import Certificate, Doorway, doorway_checks
from runner.supervisor.health import Check, Trouble
from runner.supervisor.hearing import channel_checks

_SECONDS = 2.0
#: OpenSSL's flag by which a certificate's dates count for nothing; they are judged by `doorway`.
_NO_TIME = 0x200000
_FIX = "both are PEM files that the supervisor can read, and belong together"


def outward_checks(table: Ingress, status: JsonObject | None) -> tuple[Check, ...]:
    """All that is said of where a supervisor speaks with others: its channels of notices, then its door. For a thread."""
    return (*channel_checks(status), *doorway_checks(knock(table, status)))


def knock(table: Ingress, status: JsonObject | None) -> Doorway:
    """Look at the door. Blocking; for a thread.

    Args:
        table: This command's settings of it.
        status: What the supervisor says of itself; None when it does not answer.
    """
    found = status.get("ingress") if status is not None else None
    said: Mapping[str, Json] | None = found if isinstance(found, dict) else None
    if table.bind is None:
        return Doorway(now=time.time(), bind=None, runs=status is not None, said=said)
    return Doorway(
        now=time.time(),
        bind=table.bind,
        origin=table.origin,
        runs=status is not None,
        said=said,
        behind_proxy=table.behind_proxy,
        certificate=_certificate(table),
        answers=_answers(table) if said is not None else None,
    )


def _answers(table: Ingress) -> Trouble | None:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(table.host, table.host)  # noqa: S104 - an address that is compared
    try:
        socket.create_connection((host, table.port), timeout=_SECONDS).close()
    except OSError as error:
        return Trouble(f"nobody takes a connection at {table.bind}: {error.strerror or error}", "look at its log")
    return None


def _certificate(table: Ingress) -> Certificate | Trouble | None:
    """The certificate as a sender gets it, from a handshake that leaves this process at no point."""
    if table.certificate is None or table.key is None:
        return None
    try:
        shown = _shaken(table.certificate, table.key, name=None)
    except (OSError, ValueError) as error:
        return Trouble(f"its certificate and key cannot be used: {getattr(error, 'strerror', None) or error}", _FIX)
    try:
        _shaken(table.certificate, table.key, name=urlsplit(table.origin).hostname or "")
        named = True
    except (OSError, ValueError):
        named = False
    begins, ends = (ssl.cert_time_to_seconds(str(shown[key])) for key in ("notBefore", "notAfter"))
    return Certificate(begins=float(begins), ends=float(ends), named=named)


def _shaken(certificate: Path, key: Path, *, name: str | None) -> Mapping[str, object]:
    """What a client sees of the certificate, which it trusts as it is, under a name where one is given."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    server.load_cert_chain(certificate, key)
    client.load_verify_locations(certificate)
    client.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    client.verify_flags = ssl.VerifyFlags(client.verify_flags | _NO_TIME)
    client.check_hostname = name is not None
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(there, back, server_side=True)
    theirs = client.wrap_bio(back, there, server_hostname=name)
    for _ in range(8):
        for side in (theirs, ours):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return theirs.getpeercert() or {}
