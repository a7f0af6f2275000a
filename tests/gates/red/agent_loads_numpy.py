# place: collectors/heavy.py
# gate: lint-imports
# says: collectors is not allowed to import numpy
import numpy

ZERO = numpy.zeros(1)
