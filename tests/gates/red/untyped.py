# place: schemas/untyped.py
# gate: mypy
# says: Function is missing a type annotation


def double(number):
    """Of what?"""
    return number + number
