"""A small Kubernetes API server around the PATCH handler."""
