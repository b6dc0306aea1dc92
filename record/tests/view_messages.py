# SPDX-License-Identifier: Apache-2.0
"""Messages that the tests of views publish."""

from __future__ import annotations

import numpy as np


def image(encoding, pixels):
    values = {"height": len(pixels), "width": pixels.shape[1], "encoding": encoding, "header": {"frame_id": "front"}}
    return values | {"step": pixels[0].nbytes, "data": np.frombuffer(pixels.tobytes(), np.uint8)}


def cloud(height, width, pad=0):
    """Each point has its number as its two fields; each row has `pad` bytes more."""
    numbers = np.arange(height * width)
    points = np.zeros(height * width, np.dtype([("x", "<f4"), ("intensity", "<u2"), ("filler", "<u2")]))
    points["x"], points["intensity"] = numbers, numbers
    rows = np.pad(np.frombuffer(points.tobytes(), np.uint8).reshape(height, -1), ((0, 0), (0, pad)))
    fields = [
        *({"name": name, "offset": 0, "datatype": 7, "count": 1} for name in "xyz"),
        {"name": "intensity", "offset": 4, "datatype": 4, "count": 1},
    ]
    values = {"header": {"frame_id": "lidar", "stamp": {"sec": 5, "nanosec": 6}}, "height": height, "width": width}
    return values | {"fields": fields, "point_step": 8, "row_step": 8 * width + pad, "data": rows.reshape(-1)}
