"""The few protocols through which the engine meets the world outside."""
