"""A small file system of a test's own that can be full, or refuse to be written, and be well again. Needs root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SmallDisk:
    """A tmpfs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def full(self) -> Iterator[None]:
        """Not a byte is free for as long as the context lasts."""
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as file:
            size = os.statvfs(self.folder).f_bsize
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                pass
        try:
            yield
        finally:
            filler.unlink()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Nothing can be written for as long as the context lasts; nothing on it may be open for writing when it begins."""
        self._remount("ro")
        try:
            yield
        finally:
            self._remount("rw")

    def _remount(self, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.folder)], check=True, capture_output=True)


@contextmanager
def small_disk(folder: Path, *, size: str = "4m") -> Iterator[SmallDisk]:
    """A file system of `size` at `folder`, which is made for it."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield SmallDisk(folder)
    finally:
        # Lazily: a test that fails may leave something open there, and its own words matter more.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
