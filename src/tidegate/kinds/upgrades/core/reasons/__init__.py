"""The reasons of upgrades: gate, outcome, sentence and what opens it."""
