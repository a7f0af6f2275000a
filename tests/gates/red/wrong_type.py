# place: schemas/wrong_type.py
# gate: mypy
# says: Incompatible return value type


def name() -> str:
    """Not a name."""
    return 7
