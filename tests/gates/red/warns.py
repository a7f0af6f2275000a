# place: tests/test_warns.py
# gate: pytest
# says: DeprecationWarning: old
import warnings


def test_warns():
    warnings.warn("old", DeprecationWarning, stacklevel=1)
