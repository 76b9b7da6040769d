"""Moving pictures, files for ParaView, and pictures of volumes show the values that the solution has."""

import itertools
import subprocess

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

import sclax as scl
from sclax._result import History, solution_of


class Wave(eqx.Module):
    """The network u = Σ z_i², or sin(x − p t) where there are time and a parameter."""

    waves: bool

    def __call__(self, z):
        return jnp.sin(z[0] - z[2] * z[1])[None] if self.waves else jnp.sum(z**2)[None]


def solution(domain, waves=False, **arguments):
    problem = scl.Problem(
        domain=domain, constraints={"size": scl.worst_case(lambda u_x: u_x) <= 1.0}, reference=None, **arguments
    )
    return solution_of(problem, Wave(waves), None, {"size": 0.0}, History.of(["size"]), scl.RESULTS.converged, 0)


@pytest.fixture(scope="module")
def wave():
    law = scl.worst_case(lambda u_t, u_x, c: u_t + c * u_x) <= 1.0
    domain = scl.Box(x=(0, 6.25), t=(0, 1))
    problem = scl.Problem(domain=domain, parameters={"c": (1.0, 3.0)}, constraints={"pde": law})
    return solution_of(problem, Wave(True), None, {"pde": 0.0}, History.of(["pde"]), scl.RESULTS.converged, 0)


def test_a_gif_runs_over_time(wave, tmp_path):
    with Image.open(wave.animate(tmp_path / "u.gif", frames=4, c=2.0)) as film:
        assert film.n_frames == 4
        frames = [np.asarray(film.convert("RGB"), int) for k in range(4) if film.seek(k) is None]
    assert all(np.abs(a - b).max() > 100 for a, b in itertools.pairwise(frames))  # the wave moves
    # The wave at c = 2 is blue where it is: its peak, at x = π/2 + 2 t, goes right by 2/6.25 of the axis in all.
    peaks = []
    for frame in (frames[0], frames[-1]):
        blue = (frame[..., 2] > 120) & (frame[..., 0] < 90)
        row = np.flatnonzero(blue.any(axis=1))[0]
        peaks.append(np.mean(np.flatnonzero(blue[row : row + 2].any(axis=0))))
    columns = np.flatnonzero(((frames[0][..., 2] > 120) & (frames[0][..., 0] < 90)).any(axis=0))
    assert (peaks[1] - peaks[0]) / (columns[-1] - columns[0]) == pytest.approx(2 / 6.25, abs=0.03)


def test_a_film_and_a_page_over_a_parameter(wave, tmp_path):
    import imageio_ffmpeg

    film = wave.animate(tmp_path / "u.mp4", over="c", frames=6, fps=3)
    words = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(film), "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    seen = np.frombuffer(subprocess.run(words, capture_output=True, check=True).stdout, np.uint8).reshape(6, -1)
    assert all(np.max(np.abs(a.astype(int) - b)) > 100 for a, b in itertools.pairwise(seen))
    text = wave.animate(tmp_path / "u.html", over="c", frames=3).read_text()
    assert text.count("data:image/png") == 4  # the first one once more
    assert "c = 3" in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_what_cannot_move_is_refused(wave, tmp_path):
    with pytest.raises(ValueError, match=r"\.gif.*avi"):
        wave.animate(tmp_path / "u.avi")
    with pytest.raises(ValueError, match="`over`.*x"):
        wave.animate(tmp_path / "u.gif", over="x")
    still = solution(scl.Box(x=(0, 1), y=(0, 1)))
    with pytest.raises(ValueError, match="none"):
        still.animate(tmp_path / "u.gif")
    assert not list(tmp_path.iterdir())


def test_a_shape_is_cut_along_its_boundary(tmp_path):
    import pyvista

    plate = scl.Box(x=(-1, 1), y=(-1, 1)) - scl.Disk(x=0.2, y=0, radius=0.5)
    (file,) = solution(plate).to_vtk(tmp_path / "u.vtu", quantities=("u_x",))
    mesh = pyvista.read(file)
    x, y, _ = np.asarray(mesh.points, float).T
    np.testing.assert_allclose(mesh.point_data["u"], x**2 + y**2, atol=1e-5)
    np.testing.assert_allclose(mesh.point_data["u_x"], 2 * x, atol=1e-5)
    assert mesh.area == pytest.approx(4 - np.pi / 4, rel=1e-3)
    assert np.min(np.hypot(x - 0.2, y)) == pytest.approx(0.5, abs=1e-3)


def test_a_ball_has_its_volume(tmp_path):
    import pyvista

    (file,) = solution(scl.Ball(x=0, y=0, z=0, radius=1)).to_vtk(tmp_path / "u.vtu", points=41)
    mesh = pyvista.read(file)
    assert mesh.volume == pytest.approx(4 / 3 * np.pi, rel=1e-2)
    np.testing.assert_allclose(mesh.point_data["u"], np.sum(np.asarray(mesh.points, float) ** 2, axis=1), atol=1e-5)


def test_times_are_a_series(wave, tmp_path):
    import pyvista

    written = wave.to_vtk(tmp_path / "u.vtu", t=3, c=2.0)
    assert [p.name for p in written] == ["u.pvd", "u_0000.vtu", "u_0001.vtu", "u_0002.vtu"]
    reader = pyvista.get_reader(written[0])
    assert reader.time_values == [0.0, 0.5, 1.0]
    reader.set_active_time_value(0.5)
    mesh = reader.read()[0]
    np.testing.assert_allclose(mesh.point_data["u"], np.sin(np.asarray(mesh.points[:, 0]) - 1.0), atol=1e-5)
    with pytest.raises(ValueError, match="vtu"):
        wave.to_vtk(tmp_path / "u.vtk")


def test_surfaces_of_one_value():
    """Those of x² + y² + z² are spheres, whose area is known."""
    from sclax._result.plot_volume import isosurface

    side = np.linspace(-1, 1, 41)
    x, y, z = np.meshgrid(side, side, side, indexing="ij")
    triangles = isosurface((side, side, side), x**2 + y**2 + z**2, 0.49)
    assert np.max(np.abs(np.linalg.norm(triangles, axis=-1) - 0.7)) < 2e-3
    a, b = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    assert np.all(np.sum(np.cross(a, b) * triangles[:, 0], axis=1) > -1e-12)  # outwards, to larger values
    assert np.sum(np.linalg.norm(np.cross(a, b), axis=1)) / 2 == pytest.approx(4 * np.pi * 0.49, rel=5e-3)


def test_a_volume_is_drawn_by_slices_and_surfaces(tmp_path):
    figure = solution(scl.Box(x=(0, 1), y=(0, 2), z=(-1, 1))).plot(tmp_path / "u.png")
    titles = [axis.get_title() for axis in figure.axes if axis.get_title()]
    assert "$u$ at $y$ = 1" in titles
    assert "$u$ at $x$ = 0.5" in titles
    (solid,) = [axis for axis in figure.axes if axis.name == "3d"]
    assert solid.get_title() == "$u$ = 1.5, 3, 4.5"
    assert len(solid.collections) == 3
