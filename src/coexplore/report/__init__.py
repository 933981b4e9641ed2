"""The page a person opens: results as one HTML file that needs nothing else, or served while a study runs."""
