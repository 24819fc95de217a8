# class: devices
# tries: open or make devices of the host
# must: none is there, none can be made
# ends: done
for device in mem kmem port kmsg kvm fuse net/tun vhost-net vhost-vsock loop-control loop0 sda vda nvme0n1 xvda dm-0 mapper/control \
    vsock uinput rtc0 hpet cpu/0/msr snapshot watchdog tty0 tty1 dri/card0; do
    [ -e "/dev/$device" ] && (: <"/dev/$device") && out "opened /dev/$device"
done
for place in /tmp /dev /dev/shm "$HOME"; do
    for made in "b 8 0" "b 254 0" "b 259 0" "c 1 1" "c 10 232"; do
        mknod "$place/d" $made && out "made a device $made in $place"
    done
done
(: <>/dev/console) && out "opened the console"
echo DONE
