"""The kinds of change, a folder each; none imports another, but integrations use rollouts."""
