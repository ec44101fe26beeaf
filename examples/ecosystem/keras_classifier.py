"""Keras: a convolutional classifier with dropout and normalization, by its own training loop."""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np


def main() -> list[float]:
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    labels = random.integers(0, 4, 256)
    images = random.normal(size=(256, 8, 8, 1)).astype(np.float32)
    images[np.arange(256), 2 * labels] += 2.0  # a bright row tells the class

    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(4),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = model.fit(images, labels, batch_size=32, epochs=4, shuffle=False, verbose=0)
    loss, accuracy = model.evaluate(images, labels, verbose=0)
    logits = model.predict(images[:4], verbose=0)
    return [*history.history["loss"], loss, accuracy, *map(float, logits.sum(0))]


if __name__ == "__main__":
    print(main())
