"""One pipeline for many tenants who must not see or disturb each other: their topics, the relay, their permissions."""
