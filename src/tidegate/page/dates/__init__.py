"""When, as a picture and a table; and what would move the dates."""
