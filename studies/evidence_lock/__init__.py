"""Evidence lock: what a verdict loses when it may see nothing but a frozen record."""
