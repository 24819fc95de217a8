# class: keyrings
# tries: keep or read keys in the kernel's rings, which know no namespace
# must: every call is refused
# ends: done
void_elsewhere();
refused("add_key", 248, "user", "escape", "secret", 6, -4);
refused("request_key", 249, "user", "escape", 0, -4);
refused("keyctl: its session's ring", 250, 0, -3, 1);
refused("keyctl: a new session", 250, 1, 0);
refused("keyctl: search", 250, 10, -4, "user", "escape");
if (open(my $keys, "<", "/proc/keys")) { my $said = <$keys>; out("keys are listed: $said") if defined $said }
print "DONE\n";
