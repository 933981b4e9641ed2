"""The tasks. This file stays free of imports: Gymnasium may call `register` long before anyone trains."""


def register() -> None:
    """Make the environments known to Gymnasium; nothing is loaded until one is made."""
    import gymnasium

    homes = {"Multiplexer": "multiplexer_env:MultiplexerEnv", "JointBits": "joint_env:JointBitsEnv"}
    for name, home in homes.items():
        environment = f"coexplore/{name}-v0"
        if environment not in gymnasium.registry:
            jax = name == "JointBits"  # whose observations the checker, which wants NumPy's, would warn of
            gymnasium.register(environment, entry_point=f"coexplore.tasks.{home}", disable_env_checker=jax)
