# class: mounts
# tries: mount, unmount, remount and move, by the old calls and the new ones
# must: every call is refused
# ends: done
void_elsewhere();
refused("mount proc", 165, "proc", "/tmp", "proc", 0, 0);
refused("mount a disk", 165, "/dev/vda", "/tmp", "ext4", 0, 0);
refused("mount writable again", 165, "none", "/workspace", 0, 4128, 0);
refused("bind", 165, "/", "/tmp", 0, 4096, 0);
refused("umount", 166, "/proc/sys", 2);
refused("pivot_root", 155, "/tmp", "/tmp");
refused("chroot", 161, "/proc/1/root");
refused("fsopen", 430, "ext4", 0);
refused("fsconfig", 431, 3, 0, 0, 0, 0);
refused("fsmount", 432, 3, 0, 0);
refused("fspick", 433, -100, "/", 0);
refused("open_tree", 428, -100, "/", 1);
refused("move_mount", 429, -100, "/tmp", -100, "/workspace", 0);
refused("mount_setattr", 442, -100, "/workspace", 0, 0, 0);
refused("open_by_handle_at", 304, 3, 0, 0);
refused("name_to_handle_at", 303, -100, "/", 0, 0, 0);
print "DONE\n";
