# In the guest, as root: see rnics.py.
. ./net-veth.sh
mkdir /tmp/site && tar x -C /tmp/site -f site.tar
PYTHONPATH=/tmp/site exec python3 ./rnics.py
