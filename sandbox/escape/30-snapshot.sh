# class: files
# tries: change the snapshot, by every call there is for it
# must: it stays as it is
# ends: done
cd /workspace || exit 1
for act in 'rm -f in.txt' 'mv in.txt other' 'touch new' 'chmod 777 in.txt' 'ln in.txt twin' 'ln -s x y' 'mkdir folder' 'truncate -s 0 in.txt' \
    'cp /etc/passwd in.txt' 'touch -d 1970-01-01 in.txt' 'mknod p p' 'dd if=/dev/zero of=in.txt count=1' 'chown 0 in.txt'; do
    $act && out "$act"
done
(exec 3<in.txt; echo x >/proc/self/fd/3) && out "wrote through a handle"
(exec 3<>in.txt) && out "opened for reading and writing"
perl -e 'open(F, "<", "in.txt"); syscall(77, fileno(F), 0) == 0 and exit 0; exit 1' && out "cut it off"
echo DONE
