# place: skeletonhunter/testbed/cheats.py
# gate: lint-imports
# says: skeletonhunter.testbed is not allowed to import localization
import localization.parameters

PARAMETERS = localization.parameters.DetectionParameters()
