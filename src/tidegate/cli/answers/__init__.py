"""Where commands get their answers from: a journal on this machine, or a service."""
