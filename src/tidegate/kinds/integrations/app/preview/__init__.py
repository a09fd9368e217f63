"""What a change of a bundle would do to the fleet, from two revisions of it."""
