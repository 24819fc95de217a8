# class: processes
# tries: read, trace, stop or take handles of other processes
# must: every call is refused, and nobody of the host is there to kill
# ends: done
void_elsewhere();
for my $pid (1, $process, getppid()) {
    refused("ptrace attach $pid", 101, 16, $pid, 0, 0);
    refused("ptrace seize $pid", 101, 0x4206, $pid, 0, 0);
    refused("process_vm_readv $pid", 310, $pid, 0, 0, 0, 0, 0);
    refused("process_vm_writev $pid", 311, $pid, 0, 0, 0, 0, 0);
    refused("kcmp $pid", 312, $$, $pid, 0, 0, 0);
    refused("process_madvise $pid", 440, $pid, 0, 0, 0, 0);
    my $handle = syscall(434, $pid, 0);
    refused("pidfd_getfd $pid", 438, $handle, 0, 0) if $handle >= 0;
}
kill(0, $process) and $process > 300 and out("process $process can be signalled");
print "DONE\n";
