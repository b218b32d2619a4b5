"""A loss that is not finite ends a training with what is kept."""

import pytest

from trainers.training.finite_loss import require_finite


@pytest.mark.parametrize(
    ("epoch", "kept"),
    [
        (0, "in epoch 1; there is no checkpoint yet. Lower"),
        (1, "in epoch 2; the checkpoint of epoch 1 is kept. Lower"),
    ],
)
def test_a_loss_that_is_not_finite_names_what_is_kept(epoch, kept):
    with pytest.raises(FloatingPointError, match=kept):
        require_finite(float("nan"), epoch)
