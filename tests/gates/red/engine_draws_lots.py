# place: localization/draws_lots.py
# gate: lint-imports
# says: localization is not allowed to import random
import random

LOT = random.random()
