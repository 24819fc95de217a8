# class: procfs
# tries: read what the kernel tells root only
# must: nothing but zeros and refusals
# ends: done
for file in /proc/kcore /proc/kmsg /proc/keys /proc/timer_list /proc/sched_debug /proc/vmallocinfo /proc/slabinfo /proc/kpagecount \
    /proc/kpageflags /proc/vmcore /proc/1/mem; do
    head -c 64 "$file" | grep -q . && out "read $file"
done
grep -v "^0* " /proc/kallsyms | head -1 | grep -q . && out "addresses in kallsyms"
grep -v "00000000-00000000" /proc/iomem | head -1 | grep -q . && out "addresses in iomem"
dmesg | head -1 | grep -q . && out "the kernel's log"
for file in /sys/firmware/acpi/tables/* /sys/firmware/dmi/tables/* /sys/firmware/efi/efivars/*; do
    head -c 16 "$file" | grep -q . && out "read $file"
done
echo DONE
