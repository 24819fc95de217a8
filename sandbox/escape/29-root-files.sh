# class: files
# tries: change the image: programs, accounts, the first process's own script
# must: every write is refused
# ends: done
for file in /etc/passwd /etc/shadow /etc/resolv.conf /etc/hosts /etc/hostname /bin/sh /usr/bin/git \
    /usr/local/bin/claude /usr/local/lib/runner/probe.sh /usr/lib/os-release; do
    [ -e "$file" ] || continue
    (: >>"$file") && out "opened $file for writing"
    (mv "$file" "$file.old" || rm -f "$file" || chmod 777 "$file" || ln -sf /tmp/x "$file") && out "changed $file"
done
(: >/etc/ld.so.preload) && out "a library for every program"
echo DONE
