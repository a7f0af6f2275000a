"""The pipeline at work: time, order, stages (pure), and the Faust worker. Importing it imports no Faust."""
