"""Documents from outside: YAML read strictly, and the forms that kinds share."""
