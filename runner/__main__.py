"""`python -m runner` and the installed command."""

from __future__ import annotations

import sys

from runner.cli.main import main as run


def main() -> int:
    """Run the command line; its exit code."""
    return run()


if __name__ == "__main__":
    sys.exit(main())
