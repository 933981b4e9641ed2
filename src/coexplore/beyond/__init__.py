"""Beyond the paper: its rules on other tasks."""
