"""The networks and losses of `training_throughput`."""

NUM_DIMS = 2  # of the F-statistic


def parts(name):
    """Returns the encoder and its loss or objective."""
    import keras

    from embeddings_tf import layers
    from embeddings_tf import losses
    from embeddings_tf import models
    from embeddings_tf import objectives

    def learned_distance():
        return objectives.LearnedDistance(
            layers.PairDistance((256, 256, 256), dropout=0.1),
            num_classes=64,
            auxiliary="softmax",
            label_smoothing=0.0,
        )

    def dense():
        return keras.Sequential(
            [
                keras.Input((64,)),
                keras.layers.Dense(256, "relu"),
                keras.layers.Dense(64),
            ]
        )

    keras.utils.set_random_seed(0)
    return {
        "omniglot": lambda: (
            models.omniglot_encoder(
                64, image_shape=(28, 28, 1), dark_ink=False, fused=True
            ),
            losses.PrototypicalLoss(5),
        ),
        "n_digit": lambda: (
            models.n_digit_encoder(2, gaussian=False),
            losses.PrototypicalLoss(5),
        ),
        "n_digit_stochastic": lambda: (
            models.n_digit_encoder(2),
            objectives.StochasticPrototypes(5),
        ),
        "n_digit_hedged": lambda: (
            models.n_digit_encoder(2),
            objectives.HedgedInstances(),
        ),
        "sprites": lambda: (models.sprites_encoder(), losses.TripletLoss()),
        "sprites_f_statistic": lambda: (
            models.sprites_encoder(),
            losses.FStatisticLoss(NUM_DIMS),
        ),
        "dense": lambda: (dense(), losses.TripletLoss()),
        "x_vector": lambda: (models.x_vector_encoder(), learned_distance()),
        "resnet18": lambda: (
            models.cifar_resnet18_encoder(),
            learned_distance(),
        ),
    }[name]()
