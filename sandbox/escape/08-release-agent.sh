# class: control groups
# tries: have the host run a program through a control group's release agent
# must: no group can be made, mounted or written
# ends: done
for folder in /sys/fs/cgroup /sys/fs/cgroup/*; do
    mkdir "$folder/x" && out "made a group in $folder"
    for name in release_agent notify_on_release cgroup.procs tasks cgroup.subtree_control; do
        [ -e "$folder/$name" ] && (echo 1 >"$folder/$name") && out "wrote $folder/$name"
    done
done
unshare -UrmC true && out "a namespace of its own"
mkdir /tmp/g && for kind in memory rdma pids; do
    mount -t cgroup -o "$kind" cgroup /tmp/g && out "mounted $kind"
done
mount -t cgroup2 none /tmp/g && out "mounted version 2"
echo DONE
