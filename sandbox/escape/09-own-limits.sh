# class: control groups
# tries: raise its own limits
# must: every write is refused
# ends: done
for name in memory.max memory.high memory.swap.max pids.max cpu.max cgroup.freeze memory/memory.limit_in_bytes \
    memory/memory.memsw.limit_in_bytes memory/memory.oom_control pids/pids.max cpu/cpu.cfs_quota_us cpu/cpu.shares \
    devices/devices.allow freezer/freezer.state; do
    file="/sys/fs/cgroup/$name"
    [ -e "$file" ] && (echo -1 >"$file" || echo max >"$file" || echo "a *:* rwm" >"$file") && out "wrote $file"
done
ulimit -Hn 1048576 && out "more open files"
ulimit -Hc unlimited && out "core dumps"
nice -n -10 true && [ "$(nice -n -10 nice)" -lt 0 ] && out "a better place in the queue"
echo DONE
