"""What the server knows about objects: pure functions, without a store and without a
request.
"""
