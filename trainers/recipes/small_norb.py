"""Small NORB: disentangling, Ridgeway & Mozer 2018, Section 4.2.

Unnamed-factor oracle: each batch is about one factor, and the loss is not told
which factor. The factors are toy (50 values), elevation and azimuth (2 values
each). As in the paper, batches follow an epoch without replacement, and early
stopping is by validation explicitness. Not run on the real data.

Departure from the paper: validation follows every 1,000 batches, and training
ends after 200,000. In the paper an epoch, in which every image occurs once for
each factor, has about 12,600 batches of the F-statistic loss and 6,300 of the
others, and patience is 20 such epochs. As in the released code, codes of the
histogram loss are measured without scaling them to length 1
(`config.evaluation.normalize_codes`).
"""

from trainers.recipes import sections
from trainers.recipes.recipe import Recipe


def factor_oracle(loss: dict, num_per_value: int, learning_rate: float):
    """Each batch contains up to 12 values of one factor."""
    return sections.config(
        "small_norb",
        folds=sections.folds("train+test"),
        batches=sections.factor_batches(num_per_value, allow_fewer=True),
        encoder={"name": "small_norb_encoder", "dim": 20},
        **loss,
        optimizer=sections.adam(learning_rate, epsilon=1e-8),
        steps_per_epoch=1000,
        num_epochs=200,
        monitor="val_explicitness",
        patience=20,
        validation={"split": "validation"},
        evaluation={
            "name": "disentanglement",
            "splits": ("test",),
            "factor_names": ("toy", "elevation", "azimuth"),
        },
    )


RECIPES = {
    "small_norb_f_statistic": Recipe(
        "Disentangling, factor oracle",
        factor_oracle,
        {
            "loss": sections.loss("FStatisticLoss", num_dims=2),
            "num_per_value": 5,
            "learning_rate": 2e-4,
        },
    ),
    "small_norb_histogram": Recipe(
        "Disentangling, factor oracle",
        factor_oracle,
        {
            "loss": sections.loss("HistogramLoss"),
            "num_per_value": 10,
            "learning_rate": 1e-4,
        },
    ),
    "small_norb_triplet": Recipe(
        "Disentangling, factor oracle",
        factor_oracle,
        {
            "loss": sections.loss("TripletLoss", margin=0.1),
            "num_per_value": 10,
            "learning_rate": 1e-4,
        },
    ),
}
