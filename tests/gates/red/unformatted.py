# place: schemas/unformatted.py
# gate: ruff format --check
# says: would be reformatted
NUMBERS = [1,2,
    3]
