"""Draw the sample book's cover: a lighthouse, a beam, and letters made of strokes.

No font and no picture is used, so nothing has to be licensed. Everything is a distance field over
the pixel grid: a shape is where the distance to it is small, and its edge is as wide as a pixel.
Run it after changing the drawing; the JPEG it writes is kept in the repository, because encoders
of other versions write other bytes.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

SIDE = 1500
HERE = Path(__file__).parent
TARGET = HERE / "the-lamp-at-skerry-head.jpg"

Field = NDArray[np.float32]
Point = tuple[float, float]

CREAM = (0.98, 0.93, 0.80)
LAMP = (1.00, 0.86, 0.52)
INK = (0.035, 0.055, 0.11)

# Letters on a grid one unit high; each is a list of strokes, each stroke a list of points. A stroke
# of six points or more is a curve that the points pull at.
LETTERS: dict[str, list[list[Point]]] = {
    "A": [[(0, 1), (0.35, 0), (0.7, 1)], [(0.13, 0.66), (0.57, 0.66)]],
    "D": [[(0, 0), (0, 1)], [(0, 0), (0.2, 0), (0.64, 0), (0.64, 1), (0.2, 1), (0, 1)]],
    "E": [[(0.5, 0), (0, 0), (0, 1), (0.5, 1)], [(0, 0.5), (0.42, 0.5)]],
    "H": [[(0, 0), (0, 1)], [(0.62, 0), (0.62, 1)], [(0, 0.5), (0.62, 0.5)]],
    "I": [[(0, 0), (0, 1)]],
    "K": [[(0, 0), (0, 1)], [(0.56, 0), (0, 0.58)], [(0.17, 0.41), (0.6, 1)]],
    "L": [[(0, 0), (0, 1), (0.48, 1)]],
    "M": [[(0, 1), (0.06, 0), (0.4, 0.75), (0.74, 0), (0.8, 1)]],
    "N": [[(0, 1), (0, 0), (0.62, 1), (0.62, 0)]],
    "O": [
        [
            (0.36 + 0.36 * math.cos(t * math.pi / 12), 0.5 + 0.5 * math.sin(t * math.pi / 12))
            for t in range(25)
        ]
    ],
    "P": [[(0, 1), (0, 0)], [(0, 0), (0.24, 0), (0.56, 0), (0.56, 0.56), (0.24, 0.56), (0, 0.56)]],
    "R": [
        [(0, 1), (0, 0)],
        [(0, 0), (0.24, 0), (0.56, 0), (0.56, 0.53), (0.24, 0.53), (0, 0.53)],
        [(0.28, 0.53), (0.58, 1)],
    ],
    "S": [
        [
            (0.52, 0.14),
            (0.4, 0.03),
            (0.26, 0),
            (0.1, 0.05),
            (0.02, 0.2),
            (0.08, 0.37),
            (0.27, 0.48),
            (0.45, 0.58),
            (0.53, 0.76),
            (0.45, 0.94),
            (0.27, 1),
            (0.1, 0.96),
            (0, 0.84),
        ]
    ],
    "T": [[(0, 0), (0.64, 0)], [(0.32, 0), (0.32, 1)]],
    "W": [[(0, 0), (0.22, 1), (0.45, 0.3), (0.68, 1), (0.9, 0)]],
    "Y": [[(0, 0), (0.32, 0.5), (0.64, 0)], [(0.32, 0.5), (0.32, 1)]],
}


def grid() -> tuple[Field, Field]:
    """Return x and y of every pixel's middle, in pixels from the top left."""
    axis = np.arange(SIDE, dtype=np.float32) + 0.5
    return np.meshgrid(axis, axis)


def cover_of(distance: Field) -> Field:
    """Turn a signed distance in pixels, negative inside, into how much of a pixel is covered."""
    return np.clip(0.5 - distance, 0, 1)


def polygon(x: Field, y: Field, corners: list[Point]) -> Field:
    """Return the signed distance to a convex polygon whose corners go clockwise on the screen."""
    sides = []
    for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
        length = math.hypot(bx - ax, by - ay)
        sides.append(((by - ay) * (x - ax) - (bx - ax) * (y - ay)) / length)
    return np.max(np.stack(sides), axis=0)


def strokes(x: Field, y: Field, lines: Iterable[list[Point]], width: float) -> Field:
    """Return the signed distance to polylines drawn with a round pen."""
    nearest = np.full_like(x, 1e6)
    for line in lines:
        for (ax, ay), (bx, by) in pairwise(line):
            left, right = min(ax, bx) - 3 * width, max(ax, bx) + 3 * width
            top, bottom = min(ay, by) - 3 * width, max(ay, by) + 3 * width
            box = np.s_[max(int(top), 0) : int(bottom) + 1, max(int(left), 0) : int(right) + 1]
            px, py = x[box] - ax, y[box] - ay
            dx, dy = bx - ax, by - ay
            along = np.clip((px * dx + py * dy) / max(dx * dx + dy * dy, 1e-9), 0, 1)
            apart = np.hypot(px - along * dx, py - along * dy)
            nearest[box] = np.minimum(nearest[box], apart)
    return nearest - width / 2


def rounded(line: list[Point]) -> list[Point]:
    """Return a curve through the ends of a stroke, its corners cut four times (Chaikin)."""
    for _ in range(4 if len(line) >= 6 else 0):
        cut = [line[0]]
        for (ax, ay), (bx, by) in pairwise(line):
            cut.append((0.75 * ax + 0.25 * bx, 0.75 * ay + 0.25 * by))
            cut.append((0.25 * ax + 0.75 * bx, 0.25 * ay + 0.75 * by))
        line = [*cut, line[-1]]
    return line


def lettering(
    text: str, *, middle: float, top: float, height: float, gap: float
) -> list[list[Point]]:
    """Return the strokes of a line of capitals, centred on `middle`, in pixels."""
    placed: list[list[Point]] = []
    cursor = 0.0
    for letter in text:
        if letter == " ":
            cursor += 0.38
            continue
        shape = LETTERS[letter]
        placed += [[(px + cursor, py) for px, py in rounded(line)] for line in shape]
        cursor += max(px for line in shape for px, _ in rounded(line)) + gap
    start = middle - (cursor - gap) * height / 2
    return [[(start + px * height, top + py * height) for px, py in line] for line in placed]


def paint(picture: Field, colour: tuple[float, float, float], amount: Field) -> None:
    """Lay a colour over the picture, as strongly as `amount` says, in [0, 1]."""
    picture += amount[..., None] * (np.array(colour, dtype=np.float32) - picture)


def sky_and_sea(x: Field, y: Field) -> Field:
    """Return the night: a sky that pales towards the horizon, stars, a moon, and the sea."""
    depth = (y / SIDE)[..., None]
    high, low = np.array([0.03, 0.06, 0.16]), np.array([0.19, 0.33, 0.45])
    picture = (high + (low - high) * np.clip(depth / 0.74, 0, 1) ** 1.7).astype(np.float32)
    rng = np.random.default_rng(1911)
    for _ in range(230):
        sx, sy, size = rng.uniform(0, SIDE), rng.uniform(0, 820), rng.uniform(0.8, 2.3)
        near = np.s_[max(int(sy) - 8, 0) : int(sy) + 9, max(int(sx) - 8, 0) : int(sx) + 9]
        glow = np.exp(-((x[near] - sx) ** 2 + (y[near] - sy) ** 2) / (2 * size**2))
        picture[near] += glow[..., None] * rng.uniform(0.2, 0.75)
    moon = np.maximum(np.hypot(x - 255, y - 640) - 62, 58 - np.hypot(x - 282, y - 626))
    paint(picture, CREAM, cover_of(moon) * 0.9)
    water = np.clip((y - 1110) / 390, 0, 1)
    swell = 0.5 + 0.5 * np.sin(y / (5 + 16 * water) + 1.4 * np.sin(x / 120 + y / 60))
    sea = np.stack([0.04 + 0.03 * swell, 0.10 + 0.06 * swell, 0.18 + 0.08 * swell], axis=-1)
    below = cover_of(1110 - y)
    return picture * (1 - below[..., None]) + sea.astype(np.float32) * below[..., None]


def light(picture: Field, x: Field, y: Field, lamp: Point) -> None:
    """Throw two beams from the lamp and set a glow around it."""
    lx, ly = lamp
    away = np.hypot(x - lx, y - ly) + 1
    for angle, strength in ((math.radians(192), 0.75), (math.radians(-14), 0.55)):
        along = (x - lx) * math.cos(angle) + (y - ly) * math.sin(angle)
        across = np.abs(-(x - lx) * math.sin(angle) + (y - ly) * math.cos(angle))
        spread = 14 + 0.115 * np.clip(along, 0, None)
        beam = np.exp(-((across / spread) ** 2)) * (along > 0) * np.exp(-away / 1150)
        paint(picture, LAMP, np.clip(beam * strength, 0, 1))
    paint(picture, LAMP, np.clip(0.9 * np.exp(-((away / 95) ** 1.1)), 0, 1))
    shine = np.exp(-(((x - lx) / (30 + 0.35 * np.clip(y - 1110, 0, None))) ** 2)) * (y > 1110)
    ripple = 0.5 + 0.5 * np.sin(y / 7 + 2.5 * np.sin(x / 37 + y / 23))
    paint(picture, LAMP, np.clip(0.5 * shine * ripple**2, 0, 1))


def tower(picture: Field, x: Field, y: Field, lamp: Point) -> None:
    """Stand the lighthouse on its rock."""
    lx, ly = lamp
    ridge = (
        1150 - 105 * np.exp(-(((x - lx - 30) / 190) ** 2)) - 38 * np.exp(-(((x - 1330) / 110) ** 2))
    )
    ridge += 9 * np.sin(x / 23) + 5 * np.sin(x / 9.1 + 1)
    rock = np.maximum(ridge - y, y - (1195 + 10 * np.sin(x / 31)))
    rock = np.maximum(rock, np.abs(x - 1105) - 395 + 6 * np.sin(y / 6))
    body = [(lx - 44, ly + 74), (lx + 44, ly + 74), (lx + 80, 1085), (lx - 80, 1085)]
    shaft = polygon(x, y, body)
    paint(picture, (0.86, 0.84, 0.78), cover_of(shaft))
    for band in range(3):
        stripe = np.abs(y - (ly + 175 + 135 * band)) - 34
        paint(picture, (0.55, 0.16, 0.13), cover_of(np.maximum(shaft, stripe)))
    shade = np.clip((x - lx + 24) / 110, 0, 1) * 0.62
    paint(picture, INK, cover_of(shaft) * shade)
    for sill in (ly + 240, ly + 380):
        window = np.maximum(np.abs(x - lx + 8) - 9, np.abs(y - sill) - 17)
        paint(picture, LAMP, cover_of(window))
    paint(picture, INK, cover_of(rock))
    for half, at, thick in ((66, ly + 66, 9), (46, ly + 34, 4), (60, ly + 46, 3)):
        paint(picture, INK, cover_of(np.maximum(np.abs(x - lx) - half, np.abs(y - at) - thick)))
    room = np.maximum(np.abs(x - lx) - 34, np.abs(y - ly) - 40)
    paint(picture, (1.0, 0.93, 0.70), cover_of(room))
    for bar in (-34, -12, 12, 34):
        paint(picture, INK, cover_of(np.maximum(np.abs(x - lx - bar) - 3, np.abs(y - ly - 6) - 60)))
    roof = [(lx, ly - 98), (lx + 52, ly - 38), (lx - 52, ly - 38)]
    paint(picture, INK, cover_of(polygon(x, y, roof)))
    paint(picture, INK, cover_of(np.hypot(x - lx, y - ly + 100) - 9))


def titles(picture: Field, x: Field, y: Field) -> None:
    """Letter the title, a rule and the line beneath."""
    lines = (
        ("THE LAMP AT", 130.0, 96.0, 0.30, 11.0),
        ("SKERRY HEAD", 275.0, 150.0, 0.26, 17.0),
        ("A STORY TO READ IN THE DARK", 1338.0, 38.0, 0.42, 5.0),
    )
    for text, top, height, gap, pen in lines:
        drawn = lettering(text, middle=SIDE / 2, top=top, height=height, gap=gap)
        paint(picture, CREAM, cover_of(strokes(x, y, drawn, pen)))
    frame = np.abs(np.maximum(np.abs(x - SIDE / 2), np.abs(y - SIDE / 2)) - (SIDE / 2 - 46)) - 2
    paint(picture, CREAM, cover_of(frame) * 0.8)


def draw() -> NDArray[np.uint8]:
    """Return the cover, uint8, shape (1500, 1500, 3), sRGB."""
    x, y = grid()
    lamp = (1075.0, 640.0)
    picture = sky_and_sea(x, y)
    light(picture, x, y, lamp)
    tower(picture, x, y, lamp)
    titles(picture, x, y)
    grain = np.random.default_rng(78).normal(0, 0.003, picture.shape[:2])  # hides banding
    return (np.clip(picture + grain[..., None], 0, 1) * 255 + 0.5).astype(np.uint8)


def encode(pixels: NDArray[np.uint8]) -> bytes:
    """Return the pixels as a JPEG."""
    codec = av.CodecContext.create("mjpeg", "w")
    codec.width = codec.height = SIDE
    codec.pix_fmt = "yuvj420p"
    codec.time_base = Fraction(1)
    codec.options = {"huffman": "optimal", "qmin": "4", "qmax": "4"}
    frame = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(format="yuvj420p")
    packets = [*codec.encode(frame), *codec.encode(None)]
    return b"".join(bytes(packet) for packet in packets)


if __name__ == "__main__":
    TARGET.write_bytes(encode(draw()))
