"""The paper, to be run again: what each figure trains, what each sentence claims, and the verdict."""
