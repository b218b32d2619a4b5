"""Compares our MFCC with kaldi-native-fbank, a package of Kaldi's code.

    pip install kaldi-native-fbank
    python -m benchmarks.mfcc_reference

The recordings are noise, a rising tone and a quiet recording with a constant
offset, at the three settings of the recipes. Speed is not measured. Prints and
writes the largest difference of any coefficient. Ends with an error if the
difference exceeds `AIM`.
"""

import importlib.metadata
import pathlib

RESULT = pathlib.Path(__file__).parent / "results" / "mfcc_reference.json"
SETTINGS = {
    "wide": dict(sample_rate=16000, high_frequency=7600.0),
    "wide, whole windows": dict(
        sample_rate=16000, high_frequency=7600.0, snip_edges=True
    ),
    "telephone": dict(
        sample_rate=8000,
        num_coefficients=23,
        num_mel_bins=23,
        high_frequency=3700.0,
    ),
}
AIM = 1e-2  # coefficients reach about 100


def recordings(rng):
    import numpy as np

    time = np.arange(20_000) / 8000
    return {
        "noise": 1000 * rng.normal(size=len(time)),
        "rising tone": 5000 * np.sin(2 * np.pi * (200 + 300 * time) * time),
        "quiet, with an offset": 3 * rng.normal(size=len(time)) + 400,
    }


def theirs(
    waveform,
    sample_rate,
    high_frequency,
    num_coefficients=30,
    num_mel_bins=30,
    snip_edges=False,
):
    import kaldi_native_fbank
    import numpy as np

    options = kaldi_native_fbank.MfccOptions()
    options.frame_opts.samp_freq = sample_rate
    options.frame_opts.dither = 0
    options.frame_opts.window_type = "hamming"
    options.frame_opts.snip_edges = snip_edges
    options.mel_opts.num_bins = num_mel_bins
    options.mel_opts.low_freq = 20.0
    options.mel_opts.high_freq = high_frequency
    options.num_ceps = num_coefficients
    options.use_energy = True
    computed = kaldi_native_fbank.OnlineMfcc(options)
    computed.accept_waveform(sample_rate, waveform.tolist())
    computed.input_finished()
    frames = range(computed.num_frames_ready)
    return np.array([computed.get_frame(frame) for frame in frames])


def main() -> None:
    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    import numpy as np

    from embeddings_tf.datasets import speech
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.provenance import provenance

    differences = {}
    for setting, arguments in SETTINGS.items():
        rng = np.random.default_rng(0)
        for name, waveform in recordings(rng).items():
            waveform = waveform.astype("float32")
            ours = speech.mfcc(waveform, **arguments).numpy()
            reference = theirs(waveform, **arguments)
            assert ours.shape == reference.shape, (ours.shape, reference.shape)
            difference = float(np.max(np.abs(ours - reference)))
            differences[f"{setting}; {name}"] = {
                "frames": len(ours),
                "largest_coefficient": float(np.max(np.abs(reference))),
                "largest_difference": difference,
            }
            print(f"{setting + '; ' + name:45}{difference:.1e}")
    largest = max(row["largest_difference"] for row in differences.values())
    write_json(
        RESULT,
        {
            "command": "python -m benchmarks.mfcc_reference",
            "largest_difference": largest,
            "aim": AIM,
            "of": differences,
            "kaldi_native_fbank": importlib.metadata.version(
                "kaldi-native-fbank"
            ),
            **provenance(),
        },
    )
    print(f"Wrote {RESULT.relative_to(RESULT.parents[2])}")
    assert largest <= AIM, f"{largest} > {AIM}"


if __name__ == "__main__":
    main()
