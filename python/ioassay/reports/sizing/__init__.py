"""Reports of sizes."""
