"""What every container of ours has in common: what it is hardened by, and what it is looked at for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from runner.sandbox.kernels import Kernel

if TYPE_CHECKING:
    from runner.sandbox.spec import Mount


class Confined(Protocol):
    """What the hardening of a container depends on; whatever has it is hardened, and looked at, in the same way."""

    @property
    def uid(self) -> int:
        """Whose its processes are."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """All of it."""
        ...

    @property
    def kernel(self) -> Kernel:
        """Whose kernel it runs on."""
        ...

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Host directories that are seen."""
        ...

    @property
    def memory(self) -> int:
        """Bytes."""
        ...

    @property
    def cpus(self) -> float:
        """How many."""
        ...

    @property
    def pids(self) -> int:
        """Processes and threads."""
        ...

    @property
    def nofile(self) -> int:
        """Open files of a process."""
        ...

    @property
    def shared_bytes(self) -> int:
        """Shared memory."""
        ...

    @property
    def seccomp(self) -> str:
        """Text of the list."""
        ...

    @property
    def runtime(self) -> str | None:
        """None is the engine's default."""
        ...

    def tmpfs(self) -> dict[str, str]:
        """Places that can be written, and their mount options."""
        ...
