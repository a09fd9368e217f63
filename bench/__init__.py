"""How fast Tidegate decides, how much memory that takes, and how it compares: `make bench`."""
