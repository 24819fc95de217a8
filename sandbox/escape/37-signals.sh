# class: processes
# tries: kill everything it can, its first process included
# must: only its own container ends
# ends: any
kill -STOP -1
kill -9 "$process"
kill -9 -1
kill -9 1
echo DONE
