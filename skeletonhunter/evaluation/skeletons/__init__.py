"""How good are inferred skeletons? On recordings of traffic with known skeletons, and on simulated jobs."""
