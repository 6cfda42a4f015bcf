"""The strategic merge patch engine: diff, apply, three-way, compose, conflicts."""
