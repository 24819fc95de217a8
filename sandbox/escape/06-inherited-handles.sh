# class: runtime
# tries: use handles that the runtime left open (CVE-2024-21626), and its own binary (CVE-2019-5736)
# must: none leads to the host
# ends: done
for handle in /proc/self/fd/* /proc/1/fd/*; do
    case "$(readlink "$handle")" in
    pipe:* | socket:* | /dev/null | /dev/pts/* | anon_inode:* | "" | /proc/*/fd* | "/proc/$$"*) ;;
    /*) out "holds $(readlink "$handle")" ;;
    esac
    for up in .. ../.. ../../.. ../../../..; do
        cat "$handle/$up$outside/secret.txt"
    done
done
for program in /proc/1/exe /proc/self/exe /sbin/docker-init /usr/sbin/docker-init; do
    [ -e "$program" ] && (: >>"$program") && out "opened $program for writing"
done
echo DONE
