"""Omniglot: retrieval of characters that were never trained on.

Not in the papers, but their protocol on a data set that anybody can download.
The classes are the 1,623 characters of both parts of Omniglot, with 20
drawings each; five folds hold out characters. Five losses have the settings of
the retrieval recipes of Sprites. The learned distance follows Monteiro et al.
2020, Appendix C: recall@k when ranking by the distance, and clusters assigned
by it, without an auxiliary classifier.

Departure from Ridgeway & Mozer 2018: the drawings of each batch are drawn
independently, instead of epochs without replacement.
"""

from trainers.recipe import Recipe
from trainers.recipes import sections
from trainers.recipes.learning_rates import cosine_decay


def retrieval(loss: dict, distance: str, **evaluation):
    """Batches of 12 characters, evaluated among held-out characters."""
    num_steps, num_epochs = 1_200, 20
    return sections.config(
        "omniglot",
        folds=sections.folds("train+test"),
        batches=sections.class_batches(12, 5),
        encoder={"name": "omniglot_encoder", "dim": 64},
        **loss,
        optimizer=sections.adam(cosine_decay(1e-3, num_steps)),
        steps_per_epoch=num_steps // num_epochs,
        num_epochs=num_epochs,
        monitor="val_recall_at_1",
        patience=10,
        validation={"split": "validation"},
        evaluation=sections.retrieval(distance, **evaluation),
    )


METHODS = sections.retrieval_losses(num_dims=20) | {
    "learned_distance": {
        "loss": sections.learned_distance(),
        "distance": "l2",
        "cluster": True,
    }
}
RECIPES = {
    f"omniglot_retrieval_{name}": Recipe(
        "Retrieval of characters that were never trained on",
        retrieval,
        values,
        results=(f"cross_validation/omniglot_retrieval_{name}-*.json",),
    )
    for name, values in METHODS.items()
}
