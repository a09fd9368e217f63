"""What comes of a world if nobody changes anything: the rules of upgrades, run ahead."""
