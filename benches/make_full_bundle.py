"""Make a bundle of the released size and structure, with random weights, for the benches.

    python benches/make_full_bundle.py benches/out/loudr-1 [--turbo]

The modules are those of loudkit's torch backend, instantiated with the released dimensions and
exported through TorchScript at opset 17, so graphs have the nodes, shapes and precision classes of
the published ones: what takes time there takes time here. What it says has no meaning. About 2.5 GB
and three minutes; never commit it. Needs the extra `bench` (torch; its CPU build is enough).
"""

import argparse
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "bundle")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from full_generator import export_generator, random_generator  # noqa: E402
from full_renderer import export_renderer, random_flow, random_vocoder  # noqa: E402
from loudkit.config import AlgorithmConfig  # noqa: E402
from loudr1 import write_files  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

SEED = 20_240


def released_algorithm(*, turbo: bool) -> AlgorithmConfig:
    """Return the constants that shape the modules."""
    declared = {
        "format": "loudkit-checkpoint",
        "format_version": 2 if turbo else 1,
        "n_cfm_timesteps": 1 if turbo else 2,
        "window": {
            "max_speech_tokens": 255,
            "static_length": 255,
            "pad_token_id": 4254,
            "static_prompt_tokens": 238,
        },
    }
    if turbo:
        declared["decode"] = {"mode": "fusion_mtp2"}
    return AlgorithmConfig.from_manifest(declared)


def tensors_of(modules: dict[str, torch.nn.Module]) -> dict[str, NDArray[np.generic]]:
    """Return all weights under their names in a checkpoint; what fits float16 is stored so."""
    found = {}
    for prefix, module in modules.items():
        for name, weight in module.named_parameters():
            half = prefix == "t3" or "decoder.estimator." in name
            kept = weight.detach().half() if half else weight.detach()
            found[f"{prefix}.{name}"] = kept.contiguous().numpy()
    return dict(sorted(found.items()))


def main() -> None:
    """Write the bundle that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--turbo", action="store_true")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    warnings.filterwarnings("ignore", message="Constant folding")
    torch.manual_seed(SEED)
    config = released_algorithm(turbo=asked.turbo)
    graphs = asked.out / "onnx"
    graphs.mkdir(parents=True, exist_ok=True)
    generator = random_generator(config)
    flow, vocoder = random_flow(config), random_vocoder(config)
    with torch.no_grad():
        export_generator(generator, graphs, turbo=asked.turbo)
        export_renderer(flow, vocoder, graphs)
    modules = {"t3": generator, "s3gen.flow": flow, "s3gen.mel2wav": vocoder}
    name = "random-loudr-1-turbo" if asked.turbo else "random-loudr-1"
    tensors = tensors_of(modules)
    toolchain = {"torch": torch.__version__, "exporter": "torchscript", "opset": 17}
    write_files(asked.out, tensors, turbo=asked.turbo, manifest={"name": name}, toolchain=toolchain)
    size = sum(path.stat().st_size for path in asked.out.rglob("*") if path.is_file())
    print(f"{asked.out}: {size / 1e9:.1f} GB")


if __name__ == "__main__":
    main()
