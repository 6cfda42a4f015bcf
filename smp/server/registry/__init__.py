"""The objects of the server: which kinds there are, admission, storing and deletion."""
