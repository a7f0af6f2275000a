# place: schemas/too_many_parameters.py
# gate: ruff check
# says: PLR0913


def add(a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> int:
    """Seven of them."""
    return a + b + c + d + e + f + g
