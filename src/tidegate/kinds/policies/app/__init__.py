"""Questions and acts of policies, as documents."""
