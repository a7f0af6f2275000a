# place: schemas/unused_import.py
# gate: ruff check
# says: F401
import math
