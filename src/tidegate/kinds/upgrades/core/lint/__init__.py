"""Labels of an organisation that do not have the effect their owner expects."""
