"""The journal: port and stores."""
