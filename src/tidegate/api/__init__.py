"""What people and programs reach over HTTP: questions and acts, streams, probes, numbers."""
