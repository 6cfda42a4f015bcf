"""Values of JSON and what is written in them: what every other part uses."""
