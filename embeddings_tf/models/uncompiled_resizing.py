"""A layer that resizes images, in models that XLA cannot compile."""

import keras


@keras.saving.register_keras_serializable("embeddings_tf")
class UncompiledResizing(keras.layers.Resizing):
    """Resizes images; its model is trained without XLA.

    XLA has no kernel for antialiased resizing, nor for the gradient of nearest
    resizing. Keras does not know this: it would compile a model on a GPU and
    fail in the first step. With this layer, Keras leaves the model uncompiled,
    and warns if `jit_compile=True` asks for more.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.supports_jit = False
