"""What happens if nothing is changed: the rules of upgrades, run ahead."""
