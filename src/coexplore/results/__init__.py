"""What to make of results: statistics over seeds, pictures, tables."""
