#!/bin/sh
# Turns a Debian base into the inside of the wall; runs once, while the image is built, as root.
set -eu

missing=""
for tool in git rg update-ca-certificates; do
    command -v "$tool" >/dev/null 2>&1 || missing="yes"
done
if [ -n "$missing" ]; then
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates git ripgrep
    apt-get clean
    rm -rf /var/lib/apt/lists/*
fi

# Whoever could run another language's interpreter with its libraries would have one more tool; the CLI needs none.
for python in /usr/bin/python* /usr/lib/python* /usr/local/bin/python* /usr/local/lib/python*; do
    if [ -e "$python" ] || [ -L "$python" ]; then
        rm -rf "$python"
    fi
done

# Every agent has a uid of its own, 10001 and up; the CLI asks for the name of the uid it runs under.
number=10001
while [ "$number" -le 10999 ]; do
    echo "agent$number:x:$number:$number::/home/agent:/usr/sbin/nologin" >>/etc/passwd
    echo "agent$number:x:$number:" >>/etc/group
    number=$((number + 1))
done

# Mount points; the root file system is read-only when they are mounted on.
mkdir -p /workspace /run/gateway /run/session /home/agent /usr/local/lib/runner
chmod 0755 /workspace /run/gateway /run/session /usr/local/lib/runner
# The engine gives a tmpfs the mode of the directory it covers, whatever mode it was asked for.
chmod 0700 /home/agent

# no-new-privileges makes them useless already; a file that is not there needs no flag to hold.
find / -xdev \( -perm -4000 -o -perm -2000 \) \( -type f -o -type d \) -exec chmod ug-s {} +
if [ -n "$(find / -xdev \( -perm -4000 -o -perm -2000 \) \( -type f -o -type d \) -print -quit)" ]; then
    echo "a setuid or setgid file is left" >&2
    exit 1
fi
