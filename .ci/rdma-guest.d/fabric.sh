# In the guest, as root: see fabric.py.
. ./net-fabric.sh
mkdir /tmp/site && tar x -C /tmp/site -f site.tar
PYTHONPATH=/tmp/site exec python3 ./fabric.py
