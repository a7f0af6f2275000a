# In the second guest of a pair, as root: see ovs.py.
ME=2; . ./net-ovs.sh
mkdir /tmp/site && tar x -C /tmp/site -f site.tar
PYTHONPATH=/tmp/site exec python3 ./ovs.py 2
