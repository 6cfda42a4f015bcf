"""Strategic merge patches for Kubernetes objects, computed and applied offline."""
