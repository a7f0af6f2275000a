"""Looking at probe plans: the picture of a schedule, and what one is worth beside others."""
