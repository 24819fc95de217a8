#!/usr/bin/env bash
# Finds a Python of 3.11 or later that can make virtual environments, installing Debian's when there is none, and hands
# over to scripts/setup.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" # dockerd and mmdebstrap's tools live there; a plain `su` leaves them out

find_python() {
  local name
  for name in python3.11 python3.12 python3.13 python3.14 python3; do
    if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      command -v "$name"
      return 0
    fi
  done
  return 1
}

install_python() {
  if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
    echo "set-up: no Python of 3.11 or later that can make virtual environments (checked python3.11 to 3.14 and python3)" >&2
    echo "hint: run: sudo apt-get install -y python3 python3-venv    then the same command again" >&2
    exit 1
  fi
  echo "      installing python3 and python3-venv from Debian's packages (about 60 MB)" >&2
  export DEBIAN_FRONTEND=noninteractive
  mkdir -p .setup
  { apt-get -q -y -o DPkg::Lock::Timeout=120 update \
    && apt-get -q -y -o DPkg::Lock::Timeout=120 install --no-install-recommends python3 python3-venv; } \
    </dev/null >.setup/python.log 2>&1 || { tail -n 25 .setup/python.log >&2; exit 1; }
}

if ! python=$(find_python); then
  install_python
  if ! python=$(find_python); then
    echo "set-up: this system's python3 is older than 3.11" >&2
    echo "hint: install Python 3.11 or later with its venv module, then run the same command again" >&2
    exit 1
  fi
fi
exec "$python" -m scripts.setup "$@"
