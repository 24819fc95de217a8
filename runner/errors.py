"""What can go wrong, sorted by whose fault it is.

Owns the exception tree and the one table from error to exit code and HTTP status. A denial is a value, never an exception.
"""

from __future__ import annotations


class RunnerError(Exception):
    """Root of every error a person is shown.

    Args:
        brief: Lower-case sentence "cannot <verb> <thing>: <cause>".
        details: Evidence: the engine's answer, the offending line.
        resolution: What to do about it; shown as the `hint:` line.
    """

    code = "error"
    exit_code = 1
    http_status = 500

    def __init__(self, brief: str, *, details: str | None = None, resolution: str | None = None) -> None:
        super().__init__(brief)
        self.brief = brief
        self.details = details
        self.resolution = resolution

    def diagnostics(self) -> str:
        """Brief, details and resolution, a line each, for a person or a log."""
        lines = [self.brief]
        if self.details:
            lines.append(self.details)
        if self.resolution:
            lines.append(f"hint: {self.resolution}")
        return "\n".join(lines)


class UsageError(RunnerError):
    """The caller asked for something that has no meaning, or handed over bad input."""

    code, exit_code, http_status = "usage", 2, 400


class NotFoundError(RunnerError):
    """No such id, agent or file, or a prefix that fits several."""

    code, exit_code, http_status = "not_found", 3, 404


class ConfigurationError(RunnerError):
    """The operator's settings or files are wrong."""

    code, exit_code, http_status = "configuration", 2, 400


class SettingsError(ConfigurationError):
    """A setting cannot be used; names the setting."""

    code = "settings"


class ProfileError(ConfigurationError):
    """A profile cannot be used; names file and key."""

    code = "profile"


class CaptureError(ConfigurationError):
    """A capture cannot be taken: empty, over a bound, malformed."""

    code = "capture"


class SandboxError(RunnerError):
    """The wall could not be built or did not hold; the run does not start, or ends."""

    code = "sandbox"


class SandboxUnavailableError(SandboxError):
    """Engine, image or runtime cannot be reached."""

    code, exit_code, http_status = "sandbox_unavailable", 9, 503


class SandboxMismatchError(SandboxError):
    """What is in force differs from what was asked for (M2)."""

    code = "sandbox_mismatch"


class SnapshotError(SandboxError):
    """The agent's directory could not be copied: missing, too large, changed underfoot."""

    code = "snapshot"


class AgentProtocolError(RunnerError):
    """The container's frames are malformed, oversized or out of order; the container is killed."""

    code = "agent_protocol"


class GatewayError(RunnerError):
    """The model's upstream failed, or a request was not one the gateway forwards."""

    code = "gateway"


class ApprovalError(RunnerError):
    """A decision cannot be taken."""

    code = "approval"


class AlreadyDecidedError(ApprovalError):
    """Someone else was first; says who and when (L1)."""

    code, exit_code, http_status = "already_decided", 4, 409


class ApprovalExpiredError(ApprovalError):
    """Past its deadline, or no longer true of the world it was proposed in (stale)."""

    code, exit_code, http_status = "expired", 5, 410


class DigestMismatchError(ApprovalError):
    """The decision names another digest than the approval's (B4)."""

    code, exit_code, http_status = "digest_mismatch", 6, 412


class NotAllowedError(RunnerError):
    """The caller may not do this."""

    code, exit_code, http_status = "not_allowed", 7, 403


class CredentialNeededError(NotAllowedError):
    """A yes has to be signed with an approver's key here (W2); `details` is the supervisor's challenge."""

    code = "credential_needed"


class ThreadBusyError(NotAllowedError):
    """A thread has one run at a time, and it is under way."""

    code, http_status = "thread_busy", 409


class ThreadOverError(RunnerError):
    """A thread cannot go on any more: its agent is another one by now, or it has grown too long."""

    code, exit_code, http_status = "thread_over", 5, 410


class PausedError(RunnerError):
    """The supervisor is paused (L9)."""

    code, exit_code, http_status = "paused", 8, 423


class DeliveryError(RunnerError):
    """A capture was not taken over the network; an instance has the code, status and exit code of its reason."""

    code, http_status = "delivery", 400
    retry_after: int | None = None  #: seconds after which it may pass


class StoreError(RunnerError):
    """The database cannot be used; never treated as empty (L7)."""

    code, exit_code, http_status = "store", 9, 503


class SupervisorUnavailableError(RunnerError):
    """No supervisor answers on the socket, or another one holds the state directory."""

    code, exit_code, http_status = "unavailable", 9, 503


def every_error() -> dict[str, type[RunnerError]]:
    """Error classes by their stable `code`, for the API's client and the generated docs."""
    found: dict[str, type[RunnerError]] = {}
    todo: list[type[RunnerError]] = [RunnerError]
    while todo:
        kind = todo.pop()
        found[kind.code] = kind
        todo.extend(kind.__subclasses__())
    return found
