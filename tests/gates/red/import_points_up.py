# place: schemas/looks_up.py
# gate: lint-imports
# says: schemas is not allowed to import streams
import streams.stages

STAGES = streams.stages.STAGES
