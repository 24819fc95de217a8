# class: mounts
# tries: put links where something is mounted, so that the next start mounts elsewhere (CVE-2021-30465)
# must: no target can be moved or replaced
# ends: done
for place in /workspace /run/gateway /run/session /home/agent /tmp /proc /sys /dev /dev/shm /proc/self/fd; do
    (rmdir "$place" || mv "$place" "$place.old" || ln -sfn /proc/1/root "$place") && [ -L "$place" ] && out "replaced $place"
done
for name in null ptmx zero pts; do
    (rm -f "/dev/$name" || ln -sfn "$outside" "/dev/$name") && [ ! -c "/dev/$name" ] && [ ! -d "/dev/$name" ] && out "replaced /dev/$name"
done
(ln -s /proc/sys /tmp/l && echo x >/tmp/l/kernel/hostname) && out "wrote through a link"
echo DONE
