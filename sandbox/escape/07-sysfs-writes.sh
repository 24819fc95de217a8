# class: sysfs
# tries: write to /sys: hot-plug helper, power, modules, devices
# must: every write is refused
# ends: done
for file in /sys/kernel/uevent_helper /sys/power/state /sys/power/disk /sys/kernel/mm/ksm/run /sys/kernel/vmcoreinfo \
    /sys/module/*/parameters/* /sys/class/net/*/* /sys/block/*/queue/* /sys/bus/pci/rescan /sys/kernel/debug/* \
    /sys/kernel/security/* /sys/fs/bpf /sys/kernel/tracing/*; do
    [ -f "$file" ] && (: >>"$file") && out "opened $file for writing"
done
mkdir /sys/fs/bpf/x && out "made a folder in bpf"
ls /sys/kernel/debug | head -1 | grep -q . && out "reads debugfs"
ls /sys/kernel/tracing | head -1 | grep -q . && out "reads tracefs"
echo DONE
