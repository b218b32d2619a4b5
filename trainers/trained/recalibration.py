"""Calibrates a gallery anew when its classes or its rate change."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Recalibration:
    """How a gallery is calibrated when its classes change.

    Args:
        false_accept_rate: Promised rate; None: as chosen for the gallery.
        calibration: Folder or data set of classes that are not enrolled; None:
            as in the gallery, else the validation split of the run.
        threshold: Whether the gallery has a threshold.
        input_check: Whether the gallery checks that inputs look like the
            calibration examples.
    """

    false_accept_rate: float | None = None
    calibration: str | None = None
    threshold: bool = True
    input_check: bool = True

    @property
    def is_asked(self) -> bool:
        """Whether it changes a gallery whose classes stay."""
        return self != Recalibration()

    def check(self) -> None:
        """Checks the flags, before anything is loaded."""
        if self.calibration == "":
            raise ValueError(
                "--calibration is empty; name a folder or data (. is the "
                "current folder), or leave it out"
            )
        rate = self.false_accept_rate
        if rate is not None and not 0 < rate < 1:
            raise ValueError(
                "--false-accept-rate must be between 0 and 1, for example "
                f"0.05; received {rate}"
            )
        if not self.threshold and (rate or self.calibration):
            raise ValueError(
                "--no-threshold contradicts --false-accept-rate and "
                "--calibration"
            )

    def prepare(
        self, trained, gallery, enrolled: set[str], *, is_added: bool
    ) -> Callable[[], object]:
        """Returns a function that calibrates the gallery after its change.

        Errors thus come before the inputs are embedded. The threshold is
        removed: its examples may be too few for what will be enrolled.

        Args:
            trained: The run of the gallery.
            gallery: The gallery before the change.
            enrolled: Names of the classes that the gallery will have.
            is_added: Whether examples will be enrolled.

        Raises:
            ValueError: If calibration classes cannot promise the rate.
        """
        from trainers.trained.galleries import calibrate
        from trainers.trained.galleries import calibration_inputs
        from trainers.trained.galleries import require_promise

        kept, rate = gallery.held_out_examples_, self.false_accept_rate
        if rate is None:
            rate = gallery.false_accept_rate_
        if not self.threshold:
            gallery.remove_threshold()
            return lambda: None
        if kept is None or self.calibration is not None:
            others = calibration_inputs(
                trained, self.calibration, rate, enrolled
            )
            gallery.remove_threshold()
            return lambda: calibrate(
                trained, gallery, others, rate, self.input_check
            )
        if is_added or self.false_accept_rate is not None:
            require_promise(set(kept.labels) - enrolled, rate)
        typicality = gallery.typicality if self.input_check else None
        gallery.remove_threshold()

        def calibrate_again():
            gallery.calibrate(kept.embeddings, kept.labels, rate)
            gallery.typicality = typicality

        return calibrate_again
