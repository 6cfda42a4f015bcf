"""What the site (mkdocs.yml) makes at build time, from the code and its tables."""
