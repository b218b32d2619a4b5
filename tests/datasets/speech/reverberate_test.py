import numpy as np
import pytest

from embeddings_tf.datasets.speech import reverberate


@pytest.mark.parametrize("peak", [0, 7, 39])
def test_equals_a_convolution(peak):
    rng = np.random.default_rng(0)
    speech = 1000 * rng.normal(size=300)
    response = rng.uniform(-0.3, 0.3, size=40)
    response[peak] = -1.0
    expected = np.zeros(300)
    for t in range(300):
        for s in range(40):
            if 0 <= t + peak - s < 300:
                expected[t] += speech[t + peak - s] * response[s]
    expected *= np.sqrt(np.mean(speech**2) / np.mean(expected**2))
    np.testing.assert_allclose(
        reverberate(speech, response), expected, rtol=1e-4, atol=0.1
    )


def test_response_longer_than_the_waveform():
    found = reverberate([3.0, 4.0], [0.0] * 9 + [0.5]).numpy()
    np.testing.assert_allclose(found, [3.0, 4.0], rtol=1e-5)


def test_silence_stays_silence():
    assert not reverberate(np.zeros(5), [1.0, 0.5]).numpy().any()


@pytest.mark.parametrize(
    ("speech", "response", "message"),
    [
        ([], [1.0], "no samples"),
        ([1.0], [], "not 0"),
        ([1.0], [0.0, 0.0], "not 0"),
        ([np.nan], [1.0], "waveform contains NaN"),
        ([1.0], [np.nan], "room_response contains NaN"),
        ([[1.0]], [1.0], "waveform must have shape"),
    ],
)
def test_bad_input(speech, response, message):
    with pytest.raises(ValueError, match=message):
        reverberate(speech, response)


@pytest.mark.parametrize("size", [1e-24, 1e20, 1e30])
@pytest.mark.parametrize("response_size", [1e-24, 1.0, 1e20])
def test_samples_of_any_size(size, response_size):
    """The squares of these samples are beyond the range of float32."""
    rng = np.random.default_rng(0)
    speech = size * rng.normal(size=50)
    response = response_size * np.append(1.0, rng.uniform(-0.5, 0.5, 7))
    expected = np.convolve(speech, response)[:50]
    expected *= np.sqrt(np.mean(speech**2) / np.mean(expected**2))
    np.testing.assert_allclose(
        reverberate(speech, response), expected, rtol=1e-4, atol=1e-5 * size
    )


def test_a_result_beyond_float32_is_refused():
    """One sample of 100 has all the power: 10 times the largest."""
    speech = np.full(100, 3e38)
    with pytest.raises(ValueError, match="exceeds .*scale the waveform down"):
        reverberate(speech, [1.0, -1.0])
