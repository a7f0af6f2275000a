# place: tests/test_passes.py
# gate: pytest
# says: [XPASS(strict)]
import pytest


@pytest.mark.xfail(reason="mended in the meantime")
def test_mended():
    pass
