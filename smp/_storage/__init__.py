"""What an API server does with an object before it stores it, in its order."""
