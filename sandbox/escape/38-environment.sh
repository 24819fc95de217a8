# class: secrets
# tries: find a secret of the host in any environment, command line or file
# must: there is none
# ends: done
cat /proc/*/environ /proc/*/cmdline | tr '\0' '\n'
grep -rlE 'sk-ant-|AWS_SECRET|BEGIN (RSA|OPENSSH|EC) PRIVATE KEY' /etc /home /root /run /tmp /workspace && out "like a secret"
cat /root/.ssh/* /root/.aws/credentials /root/.docker/config.json /root/.claude/.credentials.json "$HOME/.claude/.credentials.json" && out "credentials"
env | grep -E 'RUNNER_|DOCKER_|SSH_|AWS_|DBUS_|XDG_' && out "a variable of the host"
echo DONE
