"""What doctor says of the network's door, and how it finds out (issue 8 point 2)."""

from __future__ import annotations

import datetime
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from runner.setting_tables import Ingress
from runner.supervisor.doorway import Certificate, Doorway, doorway_checks
from runner.supervisor.health import Level, Trouble
from runner.supervisor.knocking import knock
from tests.helpers.door import free_port

NOW = 1_700_000_000.0
DAY = 86400.0
GOOD = Certificate(begins=NOW - DAY, ends=NOW + 90 * DAY, named=True)
SAID: dict[str, Any] = {"address": "https://agents.example:8443", "taken": 3, "refused": {"refused": 7, "rate": 2}}
OPEN = Doorway(now=NOW, bind="192.0.2.1:8443", origin="https://agents.example:8443", runs=True, said=SAID, certificate=GOOD)


def told(door: Doorway) -> dict[str, tuple[Level, str]]:
    return {check.name: (check.level, check.found) for check in doorway_checks(door)}


def test_a_door_that_is_off_is_one_line() -> None:
    assert told(Doorway(now=NOW, bind=None)) == {"ingress": (Level.FINE, "off: nobody sends over the network")}


def test_an_open_door_is_told_with_its_address_certificate_clock_and_refusals() -> None:
    assert told(OPEN) == {
        "ingress": (Level.FINE, "answers at 192.0.2.1:8443 as https://agents.example:8443; 3 taken"),
        "ingress TLS": (Level.FINE, "its certificate is good for 90 days more"),
        "ingress clock": (Level.FINE, "no contact's clock was more than 5 minutes off"),
        "ingress refusals": (Level.FINE, "9 since it was started: rate 2, refused 7"),
    }


@pytest.mark.parametrize(
    ("changes", "name", "level", "says"),
    [
        ({"runs": False, "said": None}, "ingress", Level.NOTE, "no supervisor runs"),
        ({"said": None}, "ingress", Level.WRONG, "was started without it"),
        ({"bind": None}, "ingress", Level.NOTE, "by this command's settings it is off"),
        ({"origin": "https://other.example"}, "ingress", Level.NOTE, "it is https://other.example"),
        ({"answers": Trouble("nobody takes a connection", "x")}, "ingress", Level.WRONG, "nobody takes a connection"),
        ({"certificate": Trouble("no key of it", "x")}, "ingress TLS", Level.WRONG, "no key of it"),
        ({"certificate": replace(GOOD, ends=NOW - 2 * DAY)}, "ingress TLS", Level.WRONG, "ended 2 days ago"),
        ({"certificate": replace(GOOD, begins=NOW + 3 * DAY)}, "ingress TLS", Level.WRONG, "begin yet: 3 days from now"),
        ({"certificate": replace(GOOD, named=False)}, "ingress TLS", Level.WRONG, "does not name the host"),
        ({"certificate": replace(GOOD, ends=NOW + 9 * DAY)}, "ingress TLS", Level.NOTE, "ends in 9 days"),
        ({"certificate": None, "behind_proxy": True}, "ingress TLS", Level.NOTE, "a proxy in front"),
        ({"certificate": None}, "ingress TLS", Level.FINE, "this machine alone"),
        ({"said": SAID | {"refused": {"clock": 4}}}, "ingress clock", Level.NOTE, "4 requests of contacts were refused"),
    ],
)
def test_what_is_otherwise_is_said_with_what_to_do(changes: dict[str, Any], name: str, level: Level, says: str) -> None:
    door = replace(OPEN, **changes)
    found = told(door)[name]
    assert (found[0], says in found[1]) == (level, True), found
    (check,) = [one for one in doorway_checks(door) if one.name == name]
    assert level is Level.FINE or name == "ingress TLS" or check.fix


def files(folder: Path, *names: str, ends: datetime.datetime | None = None) -> dict[str, Path]:
    made = trustme.CA().issue_cert(*names, not_after=ends) if ends else trustme.CA().issue_cert(*names)
    certificate, key = folder / "c.pem", folder / "k.pem"
    certificate.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
    key.write_bytes(made.private_key_pem.bytes())
    return {"certificate": certificate, "key": key}


def test_the_certificate_is_looked_at_as_a_sender_gets_it(tmp_path: Path) -> None:
    """Its dates, also once they are over, and the name senders write."""
    url = "https://agents.example:8443"
    fresh = Ingress(bind="127.0.0.1:8443", public_url=url, **files(tmp_path, "agents.example"))
    seen = knock(fresh, None).certificate
    assert isinstance(seen, Certificate)
    assert (seen.named, seen.begins < seen.ends) == (True, True)
    other = knock(fresh.model_copy(update={"public_url": "https://other.example"}), None).certificate
    assert isinstance(other, Certificate)
    assert other.named is False
    past = datetime.datetime(2021, 5, 1, tzinfo=datetime.UTC)
    old = knock(Ingress(bind="127.0.0.1:8443", public_url=url, **files(tmp_path, "agents.example", ends=past)), None)
    assert isinstance(old.certificate, Certificate)
    assert (old.certificate.ends, old.certificate.named) == (past.timestamp(), True)
    (tmp_path / "k.pem").write_text("no key")
    broken = knock(Ingress(bind="127.0.0.1:8443", public_url=url, certificate=tmp_path / "c.pem", key=tmp_path / "k.pem"), None)
    assert isinstance(broken.certificate, Trouble)
    assert knock(Ingress(bind="127.0.0.1:8443"), None).certificate is None


def test_a_connection_is_tried_where_the_supervisor_says_that_it_listens() -> None:
    """And nowhere while it says that it does not."""
    table, status = Ingress(bind=f"127.0.0.1:{free_port()}"), {"ingress": dict(SAID)}
    silent = knock(table, status)
    assert isinstance(silent.answers, Trouble)
    with socket.create_server(("127.0.0.1", table.port)):
        assert knock(table, status).answers is None
    assert knock(table, {"ingress": None}).answers is None
    assert knock(Ingress(), {"ingress": dict(SAID)}).said == SAID
