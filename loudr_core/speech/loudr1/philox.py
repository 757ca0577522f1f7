"""Philox-4x32-10 as loudr-1 draws from it; every engine's is `loudr_core.philox`."""

from loudr_core.philox import UniformField, philox_4x32_10, uniforms, uniforms_at

__all__ = ["UniformField", "philox_4x32_10", "uniforms", "uniforms_at"]
