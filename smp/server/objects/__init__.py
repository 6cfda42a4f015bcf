"""Rules about objects: pure functions without a store, a request or a clock."""
