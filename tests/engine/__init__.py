"""The engine, exercised on the simulated fleet in virtual time."""
