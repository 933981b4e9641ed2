"""The tasks. This file stays free of imports: Gymnasium may call `register` long before anyone trains."""


def register() -> None:
    """Make the environments known to Gymnasium; nothing is loaded until one is made."""
    import gymnasium

    environment = "coexplore/Multiplexer-v0"
    if environment not in gymnasium.registry:
        gymnasium.register(environment, entry_point="coexplore.tasks.multiplexer_env:MultiplexerEnv")
