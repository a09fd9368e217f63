"""`tidegate preview`: what a merge request does to the fleet, for people, programs and forges."""
