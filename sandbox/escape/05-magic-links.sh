# class: procfs
# tries: go round a list of forbidden paths by /proc/self/root, cwd and their like (cosai-oasis/ws4#167)
# must: the host's secret is not reached
# ends: done
for way in "" /proc/self/root /proc/1/root /proc/self/cwd/../.. /proc/self/task/$$/root /proc/thread-self/root /proc/1/cwd/../.. \
    /dev/fd/0/../../.. /proc/self/root/proc/1/root; do
    cat "$way$outside/secret.txt" "$way/etc/shadow" "$way/var/run/docker.sock"
    ls "$way$outside" && out "lists the host's folder by $way"
done
echo DONE
