"""Where schemas come from: each module compiles one source to type documents."""
