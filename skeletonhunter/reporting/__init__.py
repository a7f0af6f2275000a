"""The incident on one page: what, where, how sure, since when, what to do, and the pictures that show why."""
