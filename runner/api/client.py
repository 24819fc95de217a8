"""The client's side of the control socket: one method per operation, the same errors the supervisor raised.

Owns the connection of one command. Synchronous: a command has one thing to do.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

import httpx2

from runner.api.errors import error_from
from runner.api.markers import HEADER, carried
from runner.errors import CredentialNeededError, RunnerError, SupervisorUnavailableError
from runner.model import Json, JsonObject
from runner.render import json_document

if TYPE_CHECKING:
    from runner.api.credential import Signer

#: Seconds in which even a busy supervisor answers.
PATIENCE = 60.0


class Client:
    """A connection to the supervisor on this host.

    Args:
        path: The control socket.
        patience: Seconds for an ordinary answer; a wait adds its own.
        signer: Signs what the supervisor wants signed; None: nobody here can.
    """

    def __init__(self, path: Path, *, patience: float = PATIENCE, signer: Signer | None = None) -> None:
        self._signer = signer
        self._path = path
        self._patience = patience
        self._handle: int | None = None
        self._http: httpx2.Client | None = None

    def __enter__(self) -> Self:
        try:
            self._handle = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise self._unavailable("nothing is there") from None
        address = f"/proc/self/fd/{self._handle}/{self._path.name}"
        no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # given, or every command reads all certificates of the system
        transport = httpx2.HTTPTransport(uds=address, verify=no_tls)
        self._http = httpx2.Client(transport=transport, base_url="http://runner", timeout=self._patience, trust_env=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._http is not None:
            self._http.close()
        if self._handle is not None:
            os.close(self._handle)
        self._http = self._handle = None

    def get(self, *segments: str, **params: str | list[str] | None) -> Json:
        """Read something.

        Args:
            segments: The path, a segment each; quoted here.
            params: Query parameters; None is left out.

        Raises:
            RunnerError: As the supervisor raised it.
        """
        given = {key: value for key, value in params.items() if value is not None}
        return self._call("GET", segments, params=given)

    def post(self, *segments: str, body: JsonObject) -> Json:
        """Do something; where that needs an approver's key, sign it.

        Raises:
            RunnerError: As the supervisor raised it, or the signer.
        """
        try:
            return self._send(segments, body)
        except CredentialNeededError as error:
            if self._signer is None or not error.details:
                raise
            credential = self._signer("/".join(segments), body, error.details)
        return self._send(segments, {**body, "credential": credential})

    def _send(self, segments: tuple[str, ...], body: JsonObject) -> Json:
        headers = {"Content-Type": "application/json"}
        if found := carried(os.environ):
            headers[HEADER] = ",".join(found)
        return self._call("POST", segments, content=json_document(body, compact=True).encode(), headers=headers)

    def record(self, *segments: str) -> JsonObject:
        """Read one object."""
        return as_object(self.get(*segments))

    def wait(self, *segments: str, version: int, seconds: float) -> JsonObject:
        """Read a run or an approval once its version is another, or when the time is up."""
        params: dict[str, object] = {"version": version, "seconds": seconds}
        return as_object(self._call("GET", (*segments, "wait"), params=params, wait=seconds))

    def log(self, *, after: int | None, limit: int | None = None, seconds: float = 0.0) -> JsonObject:
        """What happened since place `after`, as soon as there is something or when the time is up."""
        given: dict[str, object] = {"after": after, "limit": limit, "seconds": seconds}
        params = {key: value for key, value in given.items() if value is not None}
        return as_object(self._call("GET", ("log",), params=params, wait=seconds))

    def _call(self, method: str, segments: tuple[str, ...], *, wait: float = 0.0, **rest: object) -> Json:
        if self._http is None:
            raise RuntimeError("the client is used outside its with block")
        patience = self._patience + wait
        url = "/v1/" + "/".join(quote(segment, safe="") for segment in segments)
        try:
            answer = self._http.request(method, url, timeout=patience, **rest)  # type: ignore[arg-type]
        except httpx2.TimeoutException:
            raise self._unavailable(f"it did not answer within {patience:.0f} s") from None
        except httpx2.TransportError as error:
            raise self._unavailable(str(error) or type(error).__name__) from None
        try:
            body: Json = answer.json()
        except ValueError:
            if answer.is_server_error:
                # What the server says by itself about a request that it cut short to stop.
                raise self._unavailable("it stopped before it answered") from None
            raise RunnerError("cannot read the supervisor's answer: it is not JSON") from None
        if answer.is_success:
            return body
        raise error_from(body)

    def _unavailable(self, cause: str) -> SupervisorUnavailableError:
        return SupervisorUnavailableError(
            f"cannot reach the supervisor at {self._path}: {cause}",
            resolution="start it with runner up, or try everything with runner demo",
        )


def as_object(value: Json) -> JsonObject:
    """The value, if it is an object.

    Raises:
        RunnerError: The supervisor answered something else.
    """
    if not isinstance(value, dict):
        raise RunnerError("cannot read the supervisor's answer: it is no object")
    return value
