"""What the project is attacked with. A kind is a module with `attempt(rng, folder)`: it tries one thing in this
process, inside a scratch folder that it may have used before, and gives None if it held, else a line on what fell.

A kind may also keep a Counter `tried`, of what its attempts were, which the driver adds up.
"""
