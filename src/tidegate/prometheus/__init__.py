"""Evidence from Prometheus: requests, answers, and what follows from them."""
