# class: stdio
# tries: say on stdout what is not of the protocol
# must: it is counted, then killed
# ends: cut
while (1) { print "this is not json {[\n" or last }
