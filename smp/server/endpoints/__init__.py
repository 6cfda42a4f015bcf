"""What answers requests: from a path, a query and a body to what the registry is to do,
and to an answer.
"""
