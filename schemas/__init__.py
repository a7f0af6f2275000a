"""The contract: topics, messages, their JSON Schemas and codec. Pure; imports nothing of ours.

Start at ``schemas.topics`` (what flows), ``schemas.envelope`` (what every message has) and ``schemas.codec`` (bytes).
"""
