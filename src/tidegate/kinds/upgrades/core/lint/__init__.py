"""What in an organisation's labels does not do what its owner hopes for, before anybody waits."""
