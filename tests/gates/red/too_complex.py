# place: schemas/too_complex.py
# gate: ruff check
# says: C901


def sign(a: int, b: int, c: int, d: int, e: int) -> int:
    """Far too many ways through."""
    total = 0
    for number in (a, b, c, d, e):
        if number > 0 and number < 9 and number != 4:
            total += 1
        elif number < 0 or number == 4:
            total -= 1
        elif number == 9:
            total += 2
        if total > 3:
            total -= 1
        elif total < -3:
            total += 1
        while total > 100:
            total -= 1
        if total == 7 or number == 7:
            total = 0
        if total == 8:
            total = 1
        if total == 9:
            total = 2
    return total
