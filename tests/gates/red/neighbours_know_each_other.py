# place: probe_planner/asks_localization.py
# gate: lint-imports
# says: probe_planner is not allowed to import localization
import localization.parameters

PARAMETERS = localization.parameters.DetectionParameters()
