# In the first guest of a pair, as root: see ovs.py.
ME=1; . ./net-ovs.sh
mkdir /tmp/site && tar x -C /tmp/site -f site.tar
PYTHONPATH=/tmp/site python3 ./ovs.py 1; code=$?
ovs-appctl dpctl/dump-flows --names -m | grep -c drop
exit $code
