"""Documents that cross a border: YAML read strictly, and the forms that kinds share."""
