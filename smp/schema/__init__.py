"""Schemas: one model, several sources, a catalog of kinds."""
