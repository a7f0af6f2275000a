# place: streams/fold.py
# gate: lint-imports
# says: streams.fold is not allowed to import socket
import socket

HOST = socket.gethostname()
