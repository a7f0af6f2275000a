# place: schemas/prints.py
# gate: ruff check
# says: T201
print("hello")
