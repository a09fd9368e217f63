"""The application of promotions: plan, list, pending, revert. Each function returns a document."""
