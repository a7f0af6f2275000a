"""Which pairs of endpoints does a training job keep exercising, how sure are we, since when? Pure.

Start at ``skeleton.engine`` (the fold) and ``skeleton.inference`` (one look at the traffic);
docs/explanation/skeleton.md explains why it works.
"""
