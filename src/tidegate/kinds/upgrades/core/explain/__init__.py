"""Plans of upgrades as tables, trees, reports and dates; pure."""
