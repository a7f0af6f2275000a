"""Which pairs are ill, who is to blame, by which reasoning, on what evidence? Pure."""
