"""From HTTP requests to the registry, and from its results to HTTP responses."""
