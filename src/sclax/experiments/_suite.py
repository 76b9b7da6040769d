"""The published numbers of PINNacle as data; no JAX is needed to read them."""

from ._records import Experiment, Published


def _case(row: str, label: str, problem: str, pinn: float, best: float) -> Experiment:
    """The best of the published methods is what ours is compared with; that of its plain PINN is told beside."""
    label = f"{label} (PINN {pinn:.2e})"
    return Experiment(row, label, problem, published=Published(best, "PINNacle, best of its methods"), kind="suite")


CASES = (
    _case("burgers-1d-c", "Burgers 1d-C", "burgers_1d_c", 1.45e-2, 1.33e-2),
    _case("wave-1d-c", "Wave 1d-C", "wave_1d_c", 5.88e-1, 9.79e-2),
    _case("heat-2d-ms", "Heat 2d-MS", "heat_2d_ms", 6.21e-2, 1.73e-2),
    _case("ns-2d-c", "NS 2d-C", "ns_2d_c", 4.70e-2, 3.60e-2),
    _case("poisson-2d-c", "Poisson 2d-C", "poisson_2d_c", 6.94e-1, 1.23e-2),
    _case("heat-2d-cg", "Heat 2d-CG", "heat_2d_cg", 3.64e-2, 2.39e-2),
    _case("poisson-nd", "Poisson nd", "poisson_nd", 3.04e-3, 4.58e-4),
)
