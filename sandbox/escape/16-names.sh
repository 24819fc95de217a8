# class: network
# tries: carry data out in a name that is looked up
# must: no name is ever asked for
# ends: done
getent hosts "secret-$(id -u).example.com" && out "a name was found"
getent ahosts example.com && out "an address was found"
getent hosts localhost.localdomain.example && out "a name was found"
(exec 3<>/dev/udp/127.0.0.53/53) && out "a name server"
bash -c 'exec 3<>/dev/tcp/1.1.1.1/53' && out "the internet"
git ls-remote https://example.com/x.git && out "git reached the internet"
[ "$(cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' \n')" = lo ] || out "a network device"
[ "$(tail -n +2 /proc/net/route | wc -l)" = 0 ] || out "a route"
echo DONE
