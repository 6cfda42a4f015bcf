"""What builds and releases the project, and what ``action.yml`` runs."""
