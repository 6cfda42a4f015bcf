"""Schemas: one model of types, several sources that compile to it, a catalog of kinds.

``model`` has the types that engines read, ``sources`` compile OpenAPI documents, CRDs
and Go types to it, ``overlay`` corrects what they publish, ``catalog`` finds the schema
of a kind, and ``conversion`` converts OpenAPI documents between versions 2 and 3.
"""
