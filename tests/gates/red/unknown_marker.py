# place: tests/test_unknown_marker.py
# gate: pytest
# says: 'kafak' not found in `markers` configuration option
import pytest


@pytest.mark.kafak
def test_marked():
    pass
