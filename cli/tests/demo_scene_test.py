# SPDX-License-Identifier: Apache-2.0
"""The frames that the demo's camera sends."""

import numpy as np
from baton_cli import demo_scene
from baton_cli.demo_scene import FRAMES, HEIGHT, WIDTH, frame


def test_each_frame_has_the_right_size_and_differs_from_the_one_before_also_where_the_scene_begins_again() -> None:
    frames = [frame(n) for n in range(FRAMES + 1)]
    assert {(one.shape, one.dtype) for one in frames} == {((HEIGHT, WIDTH, 3), np.dtype(np.uint8))}

    def change(before: np.ndarray, after: np.ndarray) -> float:
        return float(np.mean(np.abs(before.astype(int) - after)))

    *steps, again = [change(before, after) for before, after in zip(frames, frames[1:], strict=False)]
    assert min(steps) > 0
    assert 0 < again <= max(steps)


def test_the_file_has_each_frame_at_its_place_and_a_later_number_means_the_same_frame_again(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(demo_scene, "FRAMES", 3)
    path = tmp_path / "frames"
    demo_scene.write(path)
    stored = np.fromfile(path, np.uint8).reshape(3, HEIGHT, WIDTH, 3)
    for number, place in ((0, 0), (2, 2), (3, 0), (301, 1)):
        assert np.array_equal(frame(number), stored[place])
