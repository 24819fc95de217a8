# class: privileges
# tries: become root or get a capability: set-user-id files, ambient sets, other uids
# must: there is no such file and no such call is let in
# ends: done
find / -xdev -perm /6000 ! -type l ! -path '/proc/*' | grep -q . && out "a file with a set-user-id bit"
for tool in su sudo mount umount newuidmap newgidmap pkexec ping passwd; do
    command -v "$tool" >/tmp/where && [ -u "$(cat /tmp/where)" ] && out "$tool gives power"
done
setpriv --reuid 0 true && out "became root"
setpriv --ambient-caps +net_raw true && out "an ambient capability"
setpriv --clear-groups true && out "dropped its groups"
perl -e '$< = 0; $> = 0; exit($> == 0 ? 0 : 1)' && out "became root"
cp /bin/sh /tmp/sh && chmod 6755 /tmp/sh && /tmp/sh -c true && out "ran a file of its own"
grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb):' /proc/self/status | grep -v '0000000000000000' && out "a capability"
grep -q '^NoNewPrivs:.1' /proc/self/status || out "privileges can grow"
echo DONE
