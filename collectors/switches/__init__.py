"""How deep are the switches' queues, and what do they count? By gNMI, or by SONiC's commands: facts for
``switch-queues``.

answers -> ``openconfig``, ``counters_db``, ``tables`` (pure: what each number is) -> ``columns`` (rows by queue) ->
facts.
"""
