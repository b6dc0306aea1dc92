# SPDX-License-Identifier: Apache-2.0
"""`baton image`: pixels of each encoding, and the output on a terminal."""

from __future__ import annotations

import base64
import io
import os
import struct
import sys
import zlib

import baton
import numpy as np
import pytest
from baton_record import image_terminal
from baton_record.image_pixels import ImageError, picture_of, with_eight_bits
from baton_record.verbs.image import command
from click.testing import CliRunner
from PIL import Image
from rich.console import Console
from support import processes
from support.build import needs_package
from support.processes import LOG, Programs

pytestmark = needs_package()
RGB = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 13
RGBA = np.dstack([RGB, np.array([[255, 0, 7], [1, 2, 3]], np.uint8)])
DEEP = np.array([[0, 1, 256], [65535, 4660, 9]], np.uint16)
FLOATS = np.array([[1.0, 3.0, np.nan], [2.0, np.inf, 1.0]], np.float32)


def message(encoding, pixels, pad=0, big=False):
    """An Image; each row has `pad` bytes more."""
    values = pixels.astype(pixels.dtype.newbyteorder(">" if big else "<"))
    rows = np.ascontiguousarray(values).view(np.uint8).reshape(len(pixels), -1)
    data = np.pad(rows, ((0, 0), (0, pad)), constant_values=99)
    return baton.message("sensor_msgs/Image")(
        {
            "height": len(pixels),
            "width": pixels.shape[1],
            "encoding": encoding,
            "is_bigendian": int(big),
            "step": data.shape[1],
            "data": data.reshape(-1),
        }
    )


CASES = {
    "rgb8": (RGB, RGB),
    "bgr8": (RGB[:, :, ::-1], RGB),
    "rgba8": (RGBA, RGBA),
    "bgra8": (RGBA[:, :, [2, 1, 0, 3]], RGBA),
    "mono8": (RGB[:, :, 0], RGB[:, :, 0]),
    "mono16": (DEEP, DEEP),
    "16UC1": (DEEP, DEEP),
    "32FC1": (FLOATS, np.array([[0, 255, 0], [128, 0, 0]], np.uint8)),
}


@pytest.mark.parametrize("encoding", CASES)
@pytest.mark.parametrize("pad, big", [(0, False), (5, True)])
def test_a_png_has_the_pixels_of_the_message(tmp_path, encoding, pad, big):
    pixels, expected = CASES[encoding]
    picture_of(message(encoding, pixels, pad, big)).save(tmp_path / "a.png")
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), expected)


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_a_compressed_picture_is_decoded(form):
    file = io.BytesIO()
    Image.fromarray(RGB).save(file, form)
    compressed = baton.message("sensor_msgs/CompressedImage")({"format": form, "data": file.getvalue()})
    assert np.array_equal(np.asarray(picture_of(compressed)), np.asarray(Image.open(file)))


def test_a_message_that_lies_about_its_size_is_refused():
    for width, height, step in ((4, 2, 9), (3, 3, 9), (3, 2, 8), (0, 2, 0), (3, 0, 9), (2**32 - 1, 2**32 - 1, 0)):
        lie = message("rgb8", RGB)
        lie.width, lie.height, lie.step = width, height, step
        with pytest.raises(ImageError, match="are not in 18 bytes"):
            picture_of(lie)
    with pytest.raises(ImageError, match="encoding 'nv12' are not shown, only rgb8, .* bayer_rggb8, .* yuv422"):
        picture_of(message("nv12", RGB))
    for data in (b"", b"\x89PNG\r\n\x1a\nnonsense"):
        with pytest.raises(ImageError, match="no JPEG or PNG"):
            picture_of(baton.message("sensor_msgs/CompressedImage")({"format": "png", "data": data}))


COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "gray": (128, 128, 128)}


@pytest.mark.parametrize(
    "encoding, order", [("yuv422", "uyvy"), ("uyvy", "uyvy"), ("yuv422_yuy2", "yuyv"), ("yuyv", "yuyv")]
)
@pytest.mark.parametrize("colour", COLOURS)
def test_pairs_of_pixels_that_share_their_colour_become_rgb(encoding, order, colour):
    red, green, blue = COLOURS[colour]  # BT.601, section 2.5.1: of 219 steps of light, and 224 of colour
    values = {
        "y": 16 + (65.481 * red + 128.553 * green + 24.966 * blue) / 255,
        "u": 128 + (-37.797 * red - 74.203 * green + 112 * blue) / 255,
        "v": 128 + (112 * red - 93.786 * green - 18.214 * blue) / 255,
    }
    four = np.array([round(values[letter]) for letter in order], np.uint8)
    data = np.tile(four, (3, 2)).reshape(3, 4, 2)
    pixels = np.asarray(picture_of(message(encoding, data, pad=3))).astype(int)
    assert pixels.shape == (3, 4, 3)
    assert np.abs(pixels - COLOURS[colour]).max() <= 3
    with pytest.raises(ImageError, match="the width is 3"):
        picture_of(message(encoding, data[:, :3]))


@pytest.mark.parametrize("order", ["rggb", "bggr", "gbrg", "grbg"])
@pytest.mark.parametrize("bits", [8, 16])
def test_the_colours_of_a_bayer_sensor_become_rgb(order, bits):
    places = np.array([["rgb".index(order[2 * (y % 2) + x % 2]) for x in range(6)] for y in range(4)])
    for colour in COLOURS.values():
        values = np.array(colour, np.uint16)[places]
        raw = values.astype(np.uint8) if bits == 8 else values * 257
        pixels = np.asarray(picture_of(message(f"bayer_{order}{bits}", raw)))
        assert np.array_equal(pixels, np.broadcast_to(np.array(colour, np.uint8), (4, 6, 3)))


def depth_message(form, header, pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return baton.message("sensor_msgs/CompressedImage")({"format": form, "data": header + file.getvalue()})


def test_compressed_depth_is_decoded():
    header = struct.pack("<iff", 0, 0.0, 0.0)
    deep = depth_message("16UC1; compressedDepth png", header, DEEP)
    assert np.array_equal(np.asarray(picture_of(deep)), DEEP)
    inverse = np.array([[100, 200], [0, 50]], np.uint16)
    floats = depth_message("32FC1; compressedDepth", struct.pack("<iff", 0, 100.0, 0.0), inverse)
    assert np.array_equal(np.asarray(picture_of(floats)), [[85, 0], [0, 255]])  # 1 m, 0.5 m, none, 2 m


@pytest.mark.parametrize(
    ("form", "data", "said"),
    [
        ("16UC1; compressedDepth rvl", bytes(100), "depth in RVL"),
        ("16UC1; compressedDepth png", bytes(11), "has no depth"),
        ("16UC1; compressedDepth png", bytes(100), "no PNG"),
    ],
)
def test_compressed_depth_that_cannot_be_read_is_refused(form, data, said):
    with pytest.raises(ImageError, match=said):
        picture_of(baton.message("sensor_msgs/CompressedImage")({"format": form, "data": data}))


@pytest.mark.parametrize("width, said", [(8, "8000 pixels, more than"), (8000, "decompression bomb")])
def test_a_small_file_makes_no_huge_picture(monkeypatch, width, said):
    monkeypatch.setattr("baton_record.image_pixels.MOST_PIXELS", 10_000)
    file = io.BytesIO()
    Image.new("1", (width, 8000)).save(file, "PNG")
    data = bytearray(file.getvalue()) + bytes(8)
    if width == 8000:
        data[16:20] = (2**31 - 1).to_bytes(4, "big")
        data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    with pytest.raises(ImageError, match=said):
        picture_of(baton.message("sensor_msgs/CompressedImage")({"format": "png", "data": bytes(data)}))


@pytest.mark.parametrize("encoding", ["bayer_rggb8", "yuyv"])
def test_colours_of_a_huge_picture_are_not_computed(monkeypatch, encoding):
    """They are floats in several places: fifty bytes a pixel."""
    monkeypatch.setattr("baton_record.image_pixels.MOST_PIXELS", 10_000)
    pixels = np.zeros((100, 101 if encoding.startswith("bayer") else 204), np.uint8)
    huge = message(encoding, pixels)
    huge.width = 102 if encoding == "yuyv" else 101
    with pytest.raises(ImageError, match="pixels, more than 10000"):
        picture_of(huge)


@pytest.mark.parametrize("kind", [b"tRNS", b"gAMA", b"pHYs", b"acTL", b"zTXt"])
def test_a_png_with_a_damaged_part_is_no_picture(kind):
    file = io.BytesIO()
    Image.new("RGB", (2, 2)).save(file, "PNG")
    png = file.getvalue()
    body = kind + (b"a\0\0" + zlib.compress(bytes(2 << 20)) if kind == b"zTXt" else b"")
    part = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    data = png[:33] + part + png[33:]  # behind the header
    with pytest.raises(ImageError, match="the message has no JPEG or PNG"):
        picture_of(baton.message("sensor_msgs/CompressedImage")({"format": "png", "data": data}))


def written(pixels, form, **size):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="truecolor", no_color=False, **size)
    image_terminal.show(with_eight_bits(Image.fromarray(pixels)), form, console)
    return file.getvalue()


FOUR = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 8, 7]]], np.uint8)


def test_half_blocks_have_the_colours_of_two_rows():
    assert written(FOUR, "blocks", width=80, height=24) == (
        "\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[0m\x1b[38;2;0;255;0;48;2;9;8;7m▀\x1b[0m\n"
    )
    assert written(FOUR[:1], "blocks", width=80, height=24) == (
        "\x1b[38;2;255;0;0m▀\x1b[0m\x1b[38;2;0;255;0m▀\x1b[0m\n"
    )


def test_a_picture_is_made_as_small_as_the_terminal():
    lines = written(np.zeros((400, 1000), np.uint8), "blocks", width=40, height=24).splitlines()
    assert [line.count("▀") for line in lines] == [40] * 8


def test_sixels_have_a_line_for_each_colour():
    two = np.zeros((7, 5, 3), np.uint8)
    two[:, 4] = 255
    head, bands = written(two, "sixel", width=80, height=24).split("#", 1)
    assert head == '\x1bPq"1;1;5;7'
    white, black = ("0", "1") if bands.startswith("0;2;100;100;100") else ("1", "0")
    lines = {f"#{black}!4~?", f"#{white}!4?~"}
    first, second, end = ("#" + bands).partition(f"#1;2;{'100;100;100' if white == '1' else '0;0;0'}")[2].split("-")
    assert set(first.split("$")) == lines
    assert set(second.split("$")) == {f"#{black}!4@?", f"#{white}!4?@"}
    assert end == "\x1b\\\n"


def test_kitty_gets_a_png_in_parts():
    noise = np.random.default_rng(1).integers(0, 256, (60, 60, 3), dtype=np.uint8)
    parts = written(noise, "kitty", width=80, height=24).removesuffix("\n").split("\x1b\\")[:-1]
    assert len(parts) > 1
    heads, data = zip(*(part.split(";") for part in parts), strict=True)
    assert heads == ("\x1b_Ga=T,f=100,m=1", *["\x1b_Gm=1"] * (len(parts) - 2), "\x1b_Gm=0")
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode("".join(data))))), noise)


def test_the_form_of_a_picture_follows_from_the_terminals_answer():
    assert image_terminal.form_of("\x1b_Gi=1;OK\x1b\\\x1b[?62;4c") == "kitty"
    assert image_terminal.form_of("\x1b[?62;4;22c") == "sixel"
    assert image_terminal.form_of("\x1b[?64;1;2c") == "blocks"
    assert image_terminal.form_of("") == "blocks"


def test_the_verb_writes_the_next_picture(runtime_directory, tmp_path):
    node = baton.Node("robot")
    images = node.advertise("image", "sensor_msgs/Image", baton.QoS(1, durability="transient_local"))
    images.publish(message("bgr8", RGB[:, :, ::-1]))
    with Programs(processes.environment(runtime_directory)) as programs:
        program = [sys.executable, "-m", "baton_cli", "image", "/image", "-o", tmp_path / "a.png"]
        programs.start(program, stderr=LOG).ends()
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), RGB)


@pytest.mark.parametrize("answer, begin", [(b"\x1b[?62;4c", b'\x1bPq"1;1;3;2'), (b"\x1b[?62c", b"\x1b[38;")])
def test_a_terminal_is_asked_what_it_shows_and_a_picture_keeps_its_colours(runtime_directory, answer, begin):
    node = baton.Node("robot")
    images = node.advertise("image", "sensor_msgs/Image", baton.QoS(1, durability="transient_local"))
    images.publish(message("rgb8", RGB))
    ours, theirs = os.openpty()
    try:
        with Programs(processes.environment(runtime_directory, TERM="xterm-256color", NO_COLOR="1")) as programs:
            program = [sys.executable, "-m", "baton_cli", "image", "/image"]
            image = programs.start(program, stdin=theirs, stdout=theirs, stderr=LOG)
            os.close(theirs)  # a program that ends ends the reading, with EIO
            seen = b""
            while b"\x1b[c" not in seen:
                seen += os.read(ours, 4096)
            os.write(ours, answer)
            while begin not in seen:
                seen += os.read(ours, 4096)
            assert image.wait(60) == 0
    finally:
        os.close(ours)


def test_wrong_arguments_are_errors_with_the_way_out(monkeypatch):
    node = baton.Node("robot")
    texts = node.advertise("text", "std_msgs/String")
    for arguments, said in (
        (["/text", "-o", "a.jpg"], "a.jpg is no PNG"),
        (["/text"], "the output is no terminal"),
        (["/text", "--as", "blocks"], "has messages of std_msgs/String"),
    ):
        assert said in " ".join(CliRunner().invoke(command, arguments).output.split())
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    assert "baton-ipc[view]" in CliRunner().invoke(command, ["/text", "-o", "a.png"]).output
    assert texts.matched == 0
