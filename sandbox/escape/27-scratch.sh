# class: exhaustion
# tries: fill every place that can be written
# must: each has its size, and all together count as memory
# ends: done
for place in /tmp "$HOME" /dev/shm; do
    head -c 200000000 /dev/zero >"$place/big" && out "200 MB in $place"
    rm -f "$place/big"
done
for place in / /usr /etc /var /var/tmp /run /run/gateway /run/session /workspace /opt /srv /home /dev /proc /sys; do
    (: >"$place/.escape") && out "a file in $place"
done
echo DONE
