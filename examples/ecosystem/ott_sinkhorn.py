"""OTT: optimal transport between two clouds of points, and its gradient."""

from __future__ import annotations

import jax
from ott.geometry import pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn


def main() -> list[float]:
    x = jax.random.normal(jax.random.key(0), (20, 2))
    y = jax.random.normal(jax.random.key(1), (25, 2)) + 1.0

    @jax.jit
    def cost(x):
        geometry = pointcloud.PointCloud(x, y, epsilon=0.1)
        return sinkhorn.Sinkhorn()(linear_problem.LinearProblem(geometry)).reg_ot_cost

    value, slope = jax.value_and_grad(cost)(x)
    solved = sinkhorn.Sinkhorn()(
        linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.1))
    )
    return [float(v) for v in (value, (slope**2).sum(), solved.matrix.max(), solved.converged)]


if __name__ == "__main__":
    print(main())
