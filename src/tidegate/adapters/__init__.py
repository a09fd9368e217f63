"""The ports carried out on real systems, the wall clock among them."""
