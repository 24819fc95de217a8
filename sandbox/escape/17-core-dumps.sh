# class: core dumps
# tries: leave a core dump, or have the host's handler run
# must: none is written and none is handed over
# ends: done
cd /tmp || exit 1
ulimit -c unlimited && out "core dumps are allowed"
for signal in SEGV ABRT QUIT BUS; do
    sh -c "kill -$signal \$\$"
done
perl -e 'kill SEGV => $$'
find /tmp "$HOME" /workspace -name 'core*' | grep -q . && out "a core dump"
(echo '|/bin/sh' >/proc/sys/kernel/core_pattern) && out "its own handler"
(echo 0x7f >/proc/self/coredump_filter); [ "$(ulimit -Hc)" = 0 ] || out "a limit above 0"
echo DONE
