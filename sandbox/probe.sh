#!/bin/sh
# The first process of every container. Prints one line of JSON saying what is in force around it and waits for a word: the
# supervisor says it when it finds the same, from inside and from outside. Then it hands the transcript over and becomes the
# agent. Reads only the kernel's word on itself; every value it prints is cut down to harmless characters.
set -fu
search="$PATH"
PATH=/usr/bin:/bin
LC_ALL=C
umask 077

# plain TEXT: TEXT when it is made of harmless characters only, else "?".
plain() {
    case "$1" in
    *[!A-Za-z0-9/_.:,+@=-]*) word="?" ;;
    *) word="$1" ;;
    esac
}

# first FILE...: the first word of the first file that can be read, else "?".
first() {
    word="?"
    for file in "$@"; do
        if [ -r "$file" ] && read -r word rest <"$file"; then
            break
        fi
    done
    plain "$word"
}

status=""
while read -r key value; do
    case "$key" in
    Uid: | Gid: | Groups: | CapInh: | CapPrm: | CapEff: | CapBnd: | CapAmb: | NoNewPrivs: | Seccomp: | Seccomp_filters:)
        words=""
        # Word splitting is meant: the kernel separates numbers by tabs.
        for item in $value; do
            plain "$item"
            words="$words${words:+,}\"$word\""
        done
        status="$status${status:+,}\"${key%:}\":[$words]"
        ;;
    esac
done <"/proc/$$/status"

mounts=""
while read -r id parent device root target options rest; do
    plain "$target"
    where="$word"
    case ",$options," in
    *,ro,*) access="ro" ;;
    *) access="rw" ;;
    esac
    flags=""
    for flag in nosuid nodev noexec; do
        case ",$options," in *",$flag,"*) flags="$flags,$flag" ;; esac
    done
    kind="${rest#*- }"
    plain "${kind%% *}"
    mounts="$mounts${mounts:+,}[\"$where\",\"$access$flags\",\"$word\"]"
done <"/proc/$$/mountinfo"

devices=""
while read -r name rest; do
    case "$name" in
    *:*)
        plain "${name%%:*}"
        devices="$devices${devices:+,}\"$word\""
        ;;
    esac
done <"/proc/$$/net/dev"

routes=-1
while read -r line; do
    routes=$((routes + 1))
done <"/proc/$$/net/route"
if [ -r "/proc/$$/net/ipv6_route" ]; then
    while read -r a b c d e f g h i name; do
        [ "$name" = "lo" ] || routes=$((routes + 1))
    done <"/proc/$$/net/ipv6_route"
fi

names=""
for name in $(tr '\n\000' '?\n' <"/proc/$$/environ" | cut -d= -f1 | tr -c 'A-Za-z0-9_\n' '?'); do
    names="$names${names:+,}\"$name\""
done

# One call that our seccomp list refuses and the engine's own allows: shows which of the two is in force.
canary="refused"
if mkfifo /tmp/.canary 2>/dev/null; then
    canary="allowed"
    rm -f /tmp/.canary
fi

places=""
for place in /workspace /run/gateway /run/session; do
    plain "$(stat -c %d:%i "$place" 2>/dev/null)"
    places="$places${places:+,}\"$place\":\"$word\""
done

spaces=""
for space in cgroup ipc mnt net pid user uts; do
    link="$(readlink "/proc/$$/ns/$space")"
    link="${link##*\[}"
    plain "${link%\]}"
    spaces="$spaces${spaces:+,}\"$space\":\"$word\""
done

nodes=""
set +f
for node in /dev/* /dev/*/*; do
    if [ -b "$node" ] || [ -c "$node" ]; then
        case "$node" in
        # Terminals: those of this container alone, and it has none.
        /dev/pts/[0-9]*) continue ;;
        esac
        # A link that stands in /dev for one of the others tells nothing new.
        [ -L "$node" ] && continue
        plain "${node#/dev/}"
        nodes="$nodes${nodes:+,}\"$word\""
    fi
done
set -f

first /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes
memory="$word"
first /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max
pids="$word"
cpu="?"
if [ -r /sys/fs/cgroup/cpu.max ] && read -r quota period </sys/fs/cgroup/cpu.max; then
    plain "$quota/$period"
    cpu="$word"
else
    for folder in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; do
        if [ -r "$folder/cpu.cfs_quota_us" ] && read -r quota <"$folder/cpu.cfs_quota_us" &&
            read -r period <"$folder/cpu.cfs_period_us"; then
            plain "$quota/$period"
            cpu="$word"
            break
        fi
    done
fi
plain "$(ulimit -c)"
core="$word"
plain "$(ulimit -n)"
nofile="$word"

printf '{"probe":1,"status":{%s},"mounts":[%s],"devices":[%s],"nodes":[%s],"routes":%s,"names":[%s],"canary":"%s",' \
    "$status" "$mounts" "$devices" "$nodes" "$routes" "$names" "$canary"
printf '"places":{%s},"spaces":{%s},"limits":{"memory":"%s","pids":"%s","cpu":"%s","core":"%s","nofile":"%s"}}\n' \
    "$places" "$spaces" "$memory" "$pids" "$cpu" "$core" "$nofile"

# Nothing of the agent has run yet, and nothing will unless what is in force was found to be what was asked.
# One byte at a time, so that what follows the word is left for the agent.
read -r word && [ "$word" = go ] || exit 71

# The transcript of an earlier segment; mounted read-only, the CLI writes on in its own copy.
set +f
for transcript in /run/session/*.jsonl; do
    if [ -f "$transcript" ] && [ ! -L "$transcript" ]; then
        mkdir -p "$HOME/.claude/projects/-workspace" || exit 70
        cp "$transcript" "$HOME/.claude/projects/-workspace/" || exit 70
    fi
done

PATH="$search"
exec "$@"
