"""The smallest probe schedule that fits the round: candidates, edge colouring, slots. Pure.

Start at ``probe_planner.engine``; ``candidates`` says who may be probed, ``colouring`` when, ``schedule`` puts both
together.
"""
