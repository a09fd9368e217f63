"""Which caller may do what: roles, grants, tokens, and the policy file that gives them."""
