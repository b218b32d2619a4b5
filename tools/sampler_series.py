"""Which runs belong to the study of the samplers, and to which curve."""

from trainers.workdirs.overrides import overrides

NUMBERS = "n_digit_2_dim_2_stochastic_prototypes"
CHARACTERS = "omniglot_1_shot_dim_2_stochastic_prototypes"
EPISODES = 2000
# From its default variance the naive sampler does not learn in a short run.
FIRST_VARIANCE = 0.05
FROM_SMALL = f"naive, first variance {FIRST_VARIANCE:g}"
SERIES = ("intersection", "naive", FROM_SMALL)
# What a run of the study may change in its recipe.
CHANGED = {
    "seed",
    "num_epochs",
    "optimizer.learning_rate.decay_steps",
    "objective.sampler",
    "objective.num_samples",
    "encoder.initial_variance",
}


def series_of(run: dict) -> str | None:
    """Returns the entry of SERIES that a run belongs to.

    None for a run of another recipe or length, and for a run that changes
    other fields.

    Args:
        run: A result with its config.
    """
    config = run["config"]
    recipe = run["recipe"]
    if recipe not in (NUMBERS, CHARACTERS):
        return None
    if config["num_epochs"] * config["steps_per_epoch"] != EPISODES:
        return None
    if not set(overrides(recipe, config)) <= CHANGED:
        return None
    sampler = config["objective"]["sampler"]
    variance = config["encoder"].get("initial_variance")
    if variance is None:
        return sampler
    is_small = sampler == "naive" and variance == FIRST_VARIANCE
    return FROM_SMALL if is_small else None
