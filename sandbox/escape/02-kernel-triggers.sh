# class: procfs
# tries: write the triggers of /proc: sysrq, other processes' scores, the scheduler, interrupts
# must: every write is refused
# ends: done
(echo h >/proc/sysrq-trigger) && out "sysrq"
for file in /proc/irq/*/smp_affinity /proc/bus/pci/*/* /proc/fs/*/* /proc/acpi/* /proc/scsi/scsi /proc/mtrr /proc/slabinfo; do
    [ -f "$file" ] && [ -w "$file" ] && (: >>"$file") && out "opened $file for writing"
done
(echo -1 >/proc/1/oom_score_adj) && out "made its first process more precious than the host's own"
(echo -1 >/proc/self/oom_score_adj) && out "made itself more precious than the host's own processes"
(echo 0 0 1 >/proc/self/uid_map) && out "mapped itself to root"
(echo deny >/proc/self/setgroups) && out "gave up a group that keeps it out of something"
echo DONE
