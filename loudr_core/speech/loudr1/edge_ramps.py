"""Ramps of the edge fade as bits, where their last bits would depend on the machine.

The reference ramp is 0.5 - 0.5 cos(linspace(0, pi, n)), all in float32. A float32 cosine differs
between mathematical libraries by its last bit, so the two lengths of the published bundles, 5 and
20 ms at 24 kHz, are kept here as the reference engine has them.

References
----------
The loudr-1 specification, section 17, and its vectors `edge_fade`.
"""

import base64
import functools

import numpy as np
from numpy.typing import NDArray

__all__ = ["edge_ramp"]

_RAMPS = {
    120: (
        "AAAAAACwNjkAqjY6AG/NOoCINjuAh447gBzNOwB8CzxgBjY84CVmPODojTxAgKs84NPLPODd7jwATAo9yH0ePbAA"
        "ND3Y0Eo9MOpiPXhIfD2Mc4s9sGCZPSTppz1UCrc9kMHGPQgM1z3Q5uc98E75PaCgBT5K3Q4+0FsYPoAaIj6eFyw+"
        "XlE2PvLFQD54c0s+DlhWPrxxYT6Kvmw+djx4Prb0gT6w4Yc+GOSNPtv6kz7jJJo+GGGgPl2upj6QC60+kHezPjnx"
        "uT5hd8A+3gjHPoWkzT4pSdQ+mvXaPqSo4T4aYeg+xh3vPnbd9T7znvw+hrABP0YRBT8ccQg/c88LP64rDz80hRI/"
        "a9sVP70tGT+Rexw/UMQfP2MHIz84RCY/OHopP9KoLD90zy8/ju0yP5MCNj/0DTk/KQ88P6UFPz/i8EE/XtBEP5Gj"
        "Rz/8aUo/IiNNP4TOTz+pa1I/GfpUP2B5Vz8M6Vk/rkhcP9iXXj8i1mA/JgNjP34eZT/OJ2c/tR5pP9wCaz/q02w/"
        "jpFuP3k7cD9d0XE/8lJzP/a/dD8kGHY/QFt3PxGJeD9hoXk//qN6P7mQez9oZ3w/5id9PxDSfT/HZX4/8eJ+P3hJ"
        "fz9ImX8/VtJ/P5X0fz8AAIA/"
    ),
    480: (
        "AAAAAACANDcAYDQ4APDKOABoNDkA8Iw5APTKOQAcCjoAYjQ6AEhkOgDnjDoAe6o6AN/KOgAS7joACgo7AHIeO4BB"
        "NDsAeEs7gBRkOwAYfjuAwIw7QCibO0BCqjsAD7o7QI7KO4C/2zsAo+07ABwAPGC/CTxguxM8IBAePCC9KDygwjM8"
        "YCA/PCDWSjzg41Y8gEljPOAGcDzAG308EESFPNAljDwwM5M8EGyaPFDQoTzgX6k8sBqxPKAAuTywEcE8sE3JPKC0"
        "0TxQRto8sALjPLDp6zxA+/Q8IDf+PLDOAz3olgg9KHQNPWhmEj2gbRc9sIkcPZi6IT1IACc9sFosPcDJMT1gTTc9"
        "kOU8PTiSQj1IU0g9sChOPWgSVD1QEFo9YCJgPYBIZj2wgmw9yNByPcgyeT2QqH89DBmDPahnhj0MwIk9NCKNPRSO"
        "kD2kA5Q93IKXPawLmz0Mnp49+DmiPWDfpT08jqk9gEatPSAIsT0U07Q9VKe4PdCEvD2Aa8A9WFvEPVBUyD1YVsw9"
        "ZGHQPWx11D1oktg9RLjcPfzm4D18HuU9wF7pPbyn7T1Y+fE9mFP2PWS2+j24If89wMoBPtwIBD4kSwY+lpEIPirc"
        "Cj7aKg0+oH0PPnbUET5ULxQ+Mo4WPgrxGD7YVxs+lMIdPjYxID64oyI+EholPj6UJz42Eio+8JMsPmgZLz6WojE+"
        "dC80Pvi/Nj4cVDk+2Os7PiaHPj7+JUE+WshDPjJuRj5+F0k+NsRLPlJ0Tj7KJ1E+mt5TPriYVj4cVlk+wBZcPpra"
        "Xj6ioWE+0mtkPiI5Zz6ICWo+At1sPnyzbz76jHI+cGl1PtZIeD4iK3s+ThB+Pil8gD6S8YE+XmiDPorghD4QWoY+"
        "7tSHPh5RiT6ezoo+Z02MPnTNjT7GTo8+VtGQPh5Vkj4c2pM+SmCVPqbnlj4qcJg+0fmZPpiEmz56EJ0+dJ2ePoAr"
        "oD6auqE+u0qjPuTbpD4ObqY+NQGoPlSVqT5mKqs+Z8CsPlNXrj4l768+2YexPmohsz7Uu7Q+Ele2PiDztz74j7k+"
        "li27PvjLvD4Wa74+7grAPnqrwT62TMM+ne7EPiqRxj5aNMg+JtjJPot8yz6FIc0+DcfOPiFt0D66E9I+1LrTPmti"
        "1T57Ctc+/rLYPvFb2j5NBdw+D6/dPjJZ3z6wA+E+hq7iPq5Z5D4lBeY+5bDnPulc6T4rCes+qrXsPmBi7j5HD/A+"
        "W7zxPphp8z73FvU+dsT2Pg9y+D69H/o+e837PkV7/T4XKf8+dWsAP15CAT9CGQI/IfACP/jGAz/FnQQ/hHQFPzRL"
        "Bj/SIQc/XPgHP9DOCD8rpQk/ansKP4xRCz+OJww/bv0MPyrTDT+9qA4/KH4PP2dTED94KBE/Wf0RPwfSEj+AphM/"
        "wnoUP8pOFT+WIhY/JPYWP3DJFz96nBg/Pm8ZP7pBGj/tExs/0+UbP2u3HD+xiB0/pVkeP0MqHz+I+h8/dMogPwSa"
        "IT80aSI/BDgjP3AGJD941CQ/FqIlP0pvJj8TPCc/bQgoP1bUKD/Mnyk/zWoqP1Y1Kz9l/ys/+MgsPw6SLT+iWi4/"
        "tCIvP0HqLz9HsTA/wncxP7Q9Mj8XAzM/68czPyyMND/bTzU/8hI2P3LVNj9Ulzc/nFg4P0QZOT9M2Tk/sZg6P3BX"
        "Oz+IFTw/+NI8P7uPPT/RSz4/Nwc/P+zBPz/se0A/ODVBP8rtQT+kpUI/wlxDPyETRD/AyEQ/nn1FP7gxRj8M5UY/"
        "mJdHP1pJSD9R+kg/eqpJP9NZSj9aCEs/DrZLP+tiTD/yDk0/ILpNP3NkTj/pDU8/gLZPPzZeUD8KBVE/+apRPwJQ"
        "Uj8j9FI/WpdTP6Y5VD8E21Q/c3tVP/EaVj98uVY/EldXP7PzVz9cj1g/CipZP77DWT90XFo/LPRaP+OKWz+YIFw/"
        "SrVcP/ZIXT+b210/Nm1eP8j9Xj9PjV8/yBtgPzKpYD+MNWE/1MBhPwhLYj8o1GI/MFxjPyDjYz/3aGQ/s+1kP1Jx"
        "ZT/U82U/NXVmP3b1Zj+VdGc/kPJnP2ZvaD8W62g/nmVpP/zeaT8wV2o/Oc5qPxREaz/BuGs/PixsP4uebD+lD20/"
        "i39tPzzubT+5W24//sduPwozbz/enG8/dgVwP9RscD/00nA/1TdxP3ibcT/a/XE/+15yP9q+cj91HXM/zHpzP9zW"
        "cz+nMXQ/Kot0P2TjdD9VOnU//I91P1bkdT9lN3Y/Jol2P5rZdj++KHc/knZ3PxbDdz9GDng/Jlh4P7KgeD/q53g/"
        "zi15P1tyeT+StXk/cvd5P/o3ej8qd3o/AbV6P37xej+gLHs/ZmZ7P9Keez/g1Xs/kQt8P+Q/fD/acnw/cKR8P6jU"
        "fD9+A30/9jB9PwxdfT/Ah30/ErF9PwLZfT+Q/30/uiR+P4BIfj/kan4/4ot+P3urfj+wyX4/fuZ+P+gBfz/rG38/"
        "iDR/P75Lfz+OYX8/9nV/P/eIfz+Qmn8/wqp/P4y5fz/uxn8/6NJ/P3ndfz+i5n8/Yu5/P7r0fz+o+X8/Lv1/P0z/"
        "fz8AAIA/"
    ),
}
"""Length to float32 values, little-endian, in base64."""


@functools.lru_cache(maxsize=8)
def edge_ramp(n_samples: int) -> NDArray[np.float32]:
    """Return a raised-cosine ramp from 0 to 1.

    Parameters
    ----------
    n_samples : int
        At least 1.

    Returns
    -------
    float32, shape (n_samples,), read-only

    Raises
    ------
    ValueError
        A ramp without samples.
    """
    if n_samples < 1:
        raise ValueError(f"a ramp of {n_samples} samples: it has 1 at least")
    if n_samples in _RAMPS:
        ramp = np.frombuffer(base64.b64decode(_RAMPS[n_samples]), "<f4").astype(np.float32)
    else:
        angle = np.linspace(0, np.pi, n_samples, dtype=np.float32)
        ramp = np.float32(0.5) - np.float32(0.5) * np.cos(angle)
    ramp.setflags(write=False)
    return ramp
