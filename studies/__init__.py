"""One folder a study; a study never imports another."""
