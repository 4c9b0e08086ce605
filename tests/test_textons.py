"""Texton histograms: windows are counted as they are, textures are told apart, a seed says it all."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from kernelstream.papers import textons
from kernelstream.papers.textons import WINDOW, brodatz_rows, filter_bank, texton_rows
from kernelstream.sources import datasets

SMALL = {"n_textons": 12, "n_train": 300, "n_test": 100}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small products take longer on many threads, above all on a busy machine."""
    with threadpool_limits(1):
        yield


def textures(side=64):
    """Stripes of two directions, spots and noise, as images."""
    y, x = np.mgrid[:side, :side]
    noise = np.random.default_rng(0).normal(size=(4, side, side))
    waves = [np.sin(x), np.sin(y), np.sin(x) * np.sin(y), np.zeros_like(noise[0])]
    return np.clip(128 + 50 * np.array(waves) + 20 * noise, 0, 255).astype(np.uint8)


def test_filters_see_no_brightness_except_the_gaussians_and_weigh_the_same():
    bank = filter_bank()
    assert bank.shape == (48, 49, 49)
    np.testing.assert_allclose(np.abs(bank).sum(axis=(1, 2)), 1.0)
    np.testing.assert_allclose(bank[:44].sum(axis=(1, 2)), 0.0, atol=1e-12)
    np.testing.assert_allclose(bank[44:].sum(axis=(1, 2)), 1.0)


def test_responses_are_the_filters_laid_on_each_pixel():
    image = np.random.default_rng(1).integers(0, 256, (1, 60, 70), np.uint8)
    responses = next(textons._responses(image)).reshape(60, 70, 48)
    standard = np.pad((image[0] - image.mean()) / image.std(), 24, mode="reflect")
    for row, column in ((0, 0), (59, 69), (31, 7)):
        patch = standard[row : row + 49, column : column + 49]
        expected = (filter_bank()[:, ::-1, ::-1] * patch).sum(axis=(1, 2))
        np.testing.assert_allclose(responses[row, column], expected, atol=1e-5)


def test_a_histogram_is_the_share_of_each_texton_in_its_window():
    labels = np.random.default_rng(2).integers(0, 7, (2, 40, 50))
    image, top, left = np.array([0, 1, 1]), np.array([0, 16, 3]), np.array([26, 0, 5])
    X = textons._histograms(labels, image, top, left, 7)
    for histogram, i, r, c in zip(X, image, top, left, strict=True):
        window = labels[i, r : r + WINDOW, c : c + WINDOW]
        np.testing.assert_allclose(histogram, np.bincount(window.ravel(), minlength=7) / WINDOW**2, rtol=1e-6)


def test_textures_are_told_apart_by_their_histograms():
    X, y, X_test, y_test = texton_rows(textures(), **SMALL)
    assert X.shape == (300, 12) and X_test.shape == (100, 12) and X.dtype == np.float32
    assert set(y) == set(y_test) == {0.0, 1.0, 2.0, 3.0}
    np.testing.assert_allclose(X.sum(axis=1), 1.0, rtol=1e-5)
    assert KNeighborsClassifier(1).fit(X, y).score(X_test, y_test) > 0.97


def test_rows_are_those_of_the_seed():
    first, again, other = (texton_rows(textures(), **SMALL, seed=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[1], other[1])


def test_too_few_windows_are_refused():
    with pytest.raises(ValueError, match=r"4 images of 25 x 25 pixels have 16 windows of 24 x 24, fewer than the 400"):
        texton_rows(textures(25), **SMALL)


def test_a_directory_must_hold_one_file_of_images(tmp_path):
    with pytest.raises(ValueError, match=r"holds 0 files \*\.images\.npz"):
        brodatz_rows(tmp_path)


def test_brodatz_plates_are_told_apart(data_directory):
    with np.load(data_directory / "brodatz" / datasets.DATASETS["brodatz"].extras["images"].file) as file:
        corners = file["images"][:, :128, :128]
    X, y, X_test, y_test = texton_rows(corners, n_textons=64, n_train=2000, n_test=500)
    assert len(np.unique(y)) == 13
    assert KNeighborsClassifier(1).fit(X, y).score(X_test, y_test) > 0.8
