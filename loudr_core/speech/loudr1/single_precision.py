"""Cosine, logarithm and power in single precision, with the same bits on every machine.

The published enrolment tables hold float32 values that were computed in single precision, each
within one unit in the last place of the true value but not always the nearest. Speech tokens of a
voice come from an argmin over what those tables let through, so the last bit is worth having; and
the host's own `cos`, `log` and `pow` differ from processor to processor. Each function here is an
argument reduction and a minimax polynomial in double-single arithmetic: a number is an unevaluated
sum of two float32. Only sums, products and correctly rounded fused products are used.

References
----------
N. Shibata, F. Petrogalli, "SLEEF: A Portable Vectorized Library of C Standard Mathematical
Functions", IEEE TPDS 31(6), 2020: the reductions and coefficients of its functions of 1.0 ULP.
T. J. Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18,
1971; D. E. Knuth, TAOCP 2, section 4.2.2: sums and products without loss.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["cosine", "logarithm", "power"]

F32: TypeAlias = NDArray[np.float32]
Pair: TypeAlias = tuple[F32, F32]
"""An unevaluated sum: the value rounded to float32, and what the rounding left over."""

_f = np.float32
_HALF_PI = (_f(1.57073974609375), _f(5.6579709053039550781e-05), _f(9.9209362947050294680e-10))
_SINE = (_f(2.6083159809786593541503e-06), _f(-0.0001981069071916863322258),
         _f(0.00833307858556509017944336), _f(-0.166666597127914428710938))  # fmt: skip
_LN2 = (_f(0.69314718246459960938), _f(-1.904654323148236017e-09))
_LN2_PARTS = (_f(0.693145751953125), _f(1.428606765330187045e-06))
_ATANH = (_f(0.3027294874), _f(0.3996108174), _f(0.6666694880))
_ATANH_LONG = (_f(0.240320354700088500976562), _f(0.285112679004669189453125),
               _f(0.400007992982864379882812))  # fmt: skip
_TWO_THIRDS = (_f(0.66666662693023681640625), _f(3.69183861259614332084311e-09))
_EXP = (_f(0.00136324646882712841033936), _f(0.00836596917361021041870117),
        _f(0.0416710823774337768554688), _f(0.166665524244308471679688),
        _f(0.499999850988388061523438))  # fmt: skip


def cosine(x: F32) -> F32:
    """Return cos(x) within 1 ULP.

    Parameters
    ----------
    x : float32, any shape
        Radians, |x| < 100.
    """
    # x = q · π/2 + t with odd q, so that cos x = ±sin t with |t| <= π/2.
    q = np.rint(_fma(x, _f(1 / np.pi), _f(-0.5))) * _f(2) + _f(1)
    t = _two_sum(x, -q * _HALF_PI[0])
    t = _plus(_plus(t, -q * _HALF_PI[1]), -q * _HALF_PI[2])
    s = _square(t)
    u = _horner(_SINE[:3], s[0])
    series = _times(_fast_two_sum(_SINE[3], u * s[0]), s)
    series = _add(_pair(_f(1)), series)
    sine = _fma(t[0], series[0], _fma(t[1], series[0], t[0] * series[1]))
    result: F32 = np.where(q.astype(np.int64) & 2, sine, -sine)
    return result


def logarithm(x: F32) -> F32:
    """Return ln(x) within 1 ULP.

    Parameters
    ----------
    x : float32, any shape
        Positive, finite, normal.
    """
    whole, r = _log_parts(x)
    square = r[0] * r[0]
    head = _add(whole, _doubled(r))
    tail = square * r[0] * _horner(_ATANH, square)
    total = _add(head, _pair(tail))
    return total[0] + total[1]


def power(x: F32, exponent: float) -> F32:
    """Return x to a power, within 1 ULP.

    Parameters
    ----------
    x : float32, any shape
        Zero, or positive, finite and normal, so that the result is normal too.
    exponent : float
        Positive; rounded to float32.
    """
    zero = x == 0
    log = _scaled(_log_pair(np.where(zero, _f(1), x)), _f(exponent))
    result: F32 = np.where(zero, _f(0), _exponential(log))
    return result


def _log_parts(x: F32) -> tuple[Pair, Pair]:
    """Return k · ln 2, and r = (m - 1) / (m + 1), of x = 2^k · m with m near 1."""
    _, k = np.frexp(x * _f(1 / 0.75))
    k = k - 1
    m = np.ldexp(x, -k)
    r = _divide(_two_sum(_f(-1), m), _two_sum(_f(1), m))
    return _scaled(_LN2, k.astype(np.float32)), r


def _log_pair(x: F32) -> Pair:
    whole, r = _log_parts(x)
    square = _square(r)
    u = _horner(_ATANH_LONG, square[0])
    series = _accurate_add(_scaled(square, u), _TWO_THIRDS)
    return _add(_add(whole, _doubled(r)), _times(_times(square, r), series))


def _exponential(x: Pair) -> F32:
    k = np.rint((x[0] + x[1]) * _f(1 / np.log(2)))
    s = _plus(_plus(x, -k * _LN2_PARTS[0]), -k * _LN2_PARTS[1])
    s = _fast_two_sum(*s)
    series = _add(s, _scaled(_square(s), _horner(_EXP, s[0])))
    total = _add(_pair(_f(1)), series)
    scaled: F32 = np.ldexp(total[0] + total[1], k.astype(np.int64))
    return scaled


def _fma(a: Any, b: Any, c: Any) -> F32:
    """Return a · b + c rounded once: a float64 holds the product of two float32 exactly."""
    wide = np.float64
    return np.asarray(np.asarray(a, wide) * np.asarray(b, wide) + np.asarray(c, wide), np.float32)


def _horner(coefficients: tuple[np.float32, ...], x: F32) -> F32:
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = _fma(value, x, coefficient)
    return value


def _pair(x: Any) -> Pair:
    value = np.asarray(x, np.float32)
    return value, np.zeros_like(value)


def _two_sum(x: Any, y: Any) -> Pair:
    s = x + y
    v = s - x
    return s, (x - (s - v)) + (y - v)


def _fast_two_sum(x: Any, y: Any) -> Pair:
    """Return x + y for |x| >= |y|."""
    s = x + y
    return s, (x - s) + y


def _plus(x: Pair, y: F32) -> Pair:
    s, rest = _two_sum(x[0], y)
    return s, rest + x[1]


def _add(x: Pair, y: Pair) -> Pair:
    """Return x + y for |x| >= |y|."""
    s, rest = _fast_two_sum(x[0], y[0])
    return s, rest + x[1] + y[1]


def _accurate_add(x: Pair, y: Any) -> Pair:
    s, rest = _two_sum(x[0], y[0])
    return s, rest + (x[1] + y[1])


def _doubled(x: Pair) -> Pair:
    return x[0] * _f(2), x[1] * _f(2)


def _scaled(x: Any, y: Any) -> Pair:
    p = x[0] * y
    return p, _fma(x[1], y, _fma(x[0], y, -p))


def _times(x: Pair, y: Pair) -> Pair:
    p = x[0] * y[0]
    return p, _fma(x[0], y[1], _fma(x[1], y[0], _fma(x[0], y[0], -p)))


def _square(x: Pair) -> Pair:
    p = x[0] * x[0]
    return p, _fma(x[0] + x[0], x[1], _fma(x[0], x[0], -p))


def _divide(x: Pair, y: Pair) -> Pair:
    inverse = _f(1) / y[0]
    q = x[0] * inverse
    rest = _fma(inverse, x[0], -q)
    error = _fma(-y[1], inverse, _fma(-y[0], inverse, _f(1)))
    return q, _fma(q, error, _fma(x[1], inverse, rest))
