"""Rows for brodatz: texton histograms of our own, made as the POLK paper (sec. 5.2) describes its own.

The paper: 13 texture images; 256 textons of them (Leung and Malik 1999); for windows of 24 x 24 pixels anywhere in the
images the histogram of their textons, with the image as the label; 10,000 windows at random to learn from, 5,000 to
test. It does not say which images, which filters, or how histograms are scaled. Chosen here: the 13 plates of the data
set, each brought to mean 0 and variance 1; the 48 filters of Leung and Malik; histograms that sum to 1. Windows
overlap, also those of training and test, as the paper's do.

The numbers that it prints are of other vectors: what is learned here is of the same kind, not the same.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import fft
from sklearn.cluster import MiniBatchKMeans

N_TEXTONS, WINDOW, N_TRAIN, N_TEST, SEED = 256, 24, 10_000, 5_000, 0
_SIDE = 49  # of a filter, in pixels
_PIXELS_TO_CLUSTER = 4_000  # of an image
_PIXELS_AT_ONCE = 2**14

Histograms = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def brodatz_rows(path: str | Path, *, seed: int = SEED) -> Histograms:
    """X_train, y_train, X_test, y_test of the images in an .npz (`images`: uint8, one a class); labels from 0.

    `path` may be the file, or a directory that holds one.
    """
    path = Path(path)
    if path.is_dir():
        found = sorted(path.glob("*.images.npz"))
        if len(found) != 1:
            raise ValueError(f"{path} holds {len(found)} files *.images.npz; name one file")
        path = found[0]
    with np.load(path, allow_pickle=False) as file:
        images = file["images"]
    return texton_rows(images, seed=seed)


def texton_rows(
    images: np.ndarray, *, n_textons: int = N_TEXTONS, n_train: int = N_TRAIN, n_test: int = N_TEST, seed: int = SEED
) -> Histograms:
    """Histograms of windows drawn without repetition, in an order that mixes the images. Float32, rows sum to 1."""
    n_images, height, width = images.shape
    places = height - WINDOW + 1, width - WINDOW + 1
    n_windows = n_images * max(0, places[0]) * max(0, places[1])
    if n_train + n_test > n_windows:
        raise ValueError(
            f"{n_images} images of {height} x {width} pixels have {n_windows:,} windows of {WINDOW} x {WINDOW}, fewer "
            f"than the {n_train + n_test:,} wanted; give larger images or lower n_train and n_test"
        )
    generator = np.random.default_rng(seed)
    textons = _textons(images, n_textons, generator, seed)
    chosen = generator.choice(n_windows, n_train + n_test, replace=False)
    image, top, left = np.unravel_index(chosen, (n_images, *places))
    X = _histograms(textons, image, top, left, n_textons)
    y = image.astype(np.float64)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def filter_bank() -> np.ndarray:
    """The 48 filters of Leung and Malik, (48, 49, 49), each of mean 0 (but the Gaussians) and absolute sum 1.

    First and second derivatives of Gaussians that are three times as long as wide, at 3 scales and 6 orientations;
    Laplacians of Gaussians at 8 scales; Gaussians at 4.
    """
    reach = np.arange(_SIDE) - _SIDE // 2
    y, x = np.meshgrid(reach, reach, indexing="ij")
    scales = np.sqrt(2.0) ** np.arange(4)
    edges, bars = [], []
    for sigma in scales[:3]:
        for angle in np.pi * np.arange(6) / 6:
            along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
            bell = np.exp(-(along**2) / (2 * (3 * sigma) ** 2) - across**2 / (2 * sigma**2))
            edges.append(-across * bell)
            bars.append((across**2 / sigma**2 - 1.0) * bell)
    distance = x**2 + y**2
    spots = [(distance / (2 * s**2) - 1.0) * np.exp(-distance / (2 * s**2)) for s in (*scales, *(3 * scales))]
    bank = np.array([*edges, *bars, *spots])
    bank -= bank.mean(axis=(1, 2), keepdims=True)
    bank = np.concatenate([bank, [np.exp(-distance / (2 * s**2)) for s in scales]])
    return bank / np.abs(bank).sum(axis=(1, 2), keepdims=True)


def _responses(images: np.ndarray) -> Iterator[np.ndarray]:
    """What the filters say of each pixel of an image, (pixels, 48) in float32; an image is mirrored at its borders."""
    half = _SIDE // 2
    height, width = images.shape[1:]
    shape = [fft.next_fast_len(side + 2 * half + _SIDE - 1, real=True) for side in (height, width)]
    bank = fft.rfft2(filter_bank().astype(np.float32), shape)
    inside = slice(2 * half, 2 * half + height), slice(2 * half, 2 * half + width)
    for image in images:
        standard = (image - image.mean()) / max(float(image.std()), 1.0)
        spectrum = fft.rfft2(np.pad(standard.astype(np.float32), half, mode="reflect"), shape)
        answers = [fft.irfft2(spectrum * one, shape)[inside].ravel() for one in bank]
        yield np.stack(answers, axis=1)


def _textons(images: np.ndarray, n_textons: int, generator: np.random.Generator, seed: int) -> np.ndarray:
    """The texton of every pixel: the nearest of the centres of the filters' responses."""
    n_pixels = images[0].size
    some = [
        responses[generator.choice(n_pixels, min(_PIXELS_TO_CLUSTER, n_pixels), replace=False)]
        for responses in _responses(images)
    ]
    cluster = MiniBatchKMeans(n_textons, n_init=1, batch_size=4096, random_state=seed)
    centres = cluster.fit(np.concatenate(some)).cluster_centers_.astype(np.float32)
    half_norms = 0.5 * (centres**2).sum(axis=1)
    textons = np.empty(images.shape, np.int64)
    for image, responses in zip(textons.reshape(len(images), -1), _responses(images), strict=True):
        for start in range(0, n_pixels, _PIXELS_AT_ONCE):
            part = slice(start, start + _PIXELS_AT_ONCE)
            image[part] = (responses[part] @ centres.T - half_norms).argmax(axis=1)
    return textons


def _histograms(
    textons: np.ndarray, image: np.ndarray, top: np.ndarray, left: np.ndarray, n_textons: int
) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(textons, (WINDOW, WINDOW), axis=(1, 2))
    counts = np.empty((len(image), n_textons), np.float32)
    for start in range(0, len(image), 1000):
        part = slice(start, start + 1000)
        inside = windows[image[part], top[part], left[part]].reshape(-1, WINDOW**2)
        flat = (inside + n_textons * np.arange(len(inside))[:, None]).ravel()
        counts[part] = np.bincount(flat, minlength=n_textons * len(inside)).reshape(-1, n_textons)
    return counts / np.float32(WINDOW**2)
