# place: skeletonhunter/scoring/peeks.py
# gate: lint-imports
# says: skeletonhunter.scoring is not allowed to import localization
import localization.parameters

PARAMETERS = localization.parameters.DetectionParameters()
