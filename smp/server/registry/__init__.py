"""What becomes of objects: admission, storing, removal; and which kinds there are at
this moment.
"""
