# Before every shell script. OUT says that something got out, DONE that the script came to its end.
# $1 abstract socket of the host, $2 its TCP port, $3 a folder of the host with a secret, $4 a process of the host.
set -u
exec 2>/dev/null
abstract="$1" port="$2" outside="$3" process="$4"
out() { echo "OUT $*"; }
