"""What holds for all tests: property tests are judged by what they find, not by how busy the machine is."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: as in the program, see skeletonhunter.cli.main

from hypothesis import HealthCheck, settings

settings.register_profile("busy-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy-machine")
