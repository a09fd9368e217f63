"""The world that questions about upgrades are answered from, and the sources it is read from."""
