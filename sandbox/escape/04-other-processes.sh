# class: procfs
# tries: see or read processes of the host through /proc
# must: only its own container's are there
# ends: done
for folder in /proc/[0-9]*; do
    pid="${folder#/proc/}"
    read -r name <"$folder/comm" || continue
    case "$name" in
    dockerd | containerd* | systemd | runc | python* | sshd) out "sees $name as $pid" ;;
    esac
done
[ -d "/proc/$process" ] && [ "$(tr '\0' ' ' <"/proc/$process/cmdline")" != "" ] && [ "$process" -gt 300 ] && out "sees process $process"
for link in /proc/[0-9]*/exe; do
    where="$(readlink "$link")"
    case "$where" in *dockerd | *containerd*) out "sees $where" ;; esac
done
echo DONE
