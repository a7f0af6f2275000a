# place: schemas/reads_clock.py
# gate: lint-imports
# says: schemas is not allowed to import time
import time

NOW = time.time()
