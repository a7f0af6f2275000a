"""How good is a diagnosis? Pure functions of truth, incidents and what a recording says about itself.

Start at ``judging.score`` (one recording), ``figures.pool`` (many) and ``referee.count_blames`` (found / false blames).
"""

from skeletonhunter.scoring.facts import FactsCollector, RecordingFacts
from skeletonhunter.scoring.figures import Figures, pool
from skeletonhunter.scoring.judging import score
from skeletonhunter.scoring.referee import BlameCount, add_counts, count_blames
from skeletonhunter.scoring.verdicts import Rules, Score

__all__ = [
    "BlameCount",
    "FactsCollector",
    "Figures",
    "RecordingFacts",
    "Rules",
    "Score",
    "add_counts",
    "count_blames",
    "pool",
    "score",
]
