import io

import av
import numpy as np
import pytest

from loudr_core.publish.cover import media_type_of, prepare_cover


def image(codec, pix_fmt, *, edge=512, container="image2pipe"):
    """Return a picture file of `edge` pixels a side, red above blue."""
    picture = np.zeros((edge, edge, 3), np.uint8)
    picture[: edge // 2, :, 0] = 200
    picture[edge // 2 :, :, 2] = 200
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as out:
        stream = out.add_stream(codec, rate=1)
        stream.width = stream.height = edge
        stream.pix_fmt = pix_fmt
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            out.mux(packet)
    return buffer.getvalue()


@pytest.mark.parametrize(("codec", "pix"), [("png", "rgb24"), ("mjpeg", "yuvj420p")])
def test_jpeg_and_png_keep_every_byte(codec, pix):
    data = image(codec, pix)
    cover, findings = prepare_cover(data)
    assert cover.data == data
    assert (cover.width, cover.height, cover.media_type) == (512, 512, media_type_of(data))
    assert findings == []


@pytest.mark.parametrize(
    ("codec", "pix", "container"),
    [("gif", "rgb8", "gif"), ("bmp", "bgr24", "image2pipe"), ("tiff", "rgb24", "image2pipe")],
)
def test_other_pictures_become_jpeg(codec, pix, container):
    cover, findings = prepare_cover(image(codec, pix, container=container))
    assert cover.media_type == "image/jpeg"
    assert findings == []
    with av.open(io.BytesIO(cover.data)) as container:
        pixels = next(container.decode(video=0)).to_ndarray(format="rgb24")
    assert pixels.shape == (512, 512, 3)
    assert pixels[100, 100, 0] > 170 > 60 > pixels[400, 100, 0]


def test_a_small_cover_is_kept_and_told():
    cover, findings = prepare_cover(image("png", "rgb24", edge=64))
    assert cover.width == 64
    assert [(f.code, f.severity) for f in findings] == [("publish-cover-small", "info")]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "publish-cover-kind"),
        (b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>", "publish-cover-kind"),
        (b"#EXTM3U\nhttp://example.org/cover.png\n", "publish-cover-kind"),
        (b"\xff\xd8\xff", "publish-cover-damaged"),
        (b"GIF89a\1\0", "publish-cover-damaged"),
        (image("png", "rgb24")[:200], "publish-cover-damaged"),
    ],
    ids=["empty", "svg", "playlist", "jpeg", "gif", "cut"],
)
def test_what_is_no_picture_is_left_out_with_a_finding(data, code):
    cover, findings = prepare_cover(data)
    assert cover is None
    assert [finding.code for finding in findings] == [code]
    assert "\n" not in findings[0].message
