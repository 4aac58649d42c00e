"""What crosses between the control plane and the workers: names, messages, errors. No behaviour."""
