package scenarios

import "testing"

// BenchmarkFluid simulates as fluid what has no symmetry: a direct all-reduce of 64 MB with an optical switch down, and
// all to all under shortest.
func BenchmarkFluid(b *testing.B) {
	b.Run("direct", func(b *testing.B) {
		benchmarkRun(b, "compose/all-reduce-torus", `policy.collectives=["direct"]`)
	})
	b.Run("all-to-all", func(b *testing.B) {
		benchmarkRun(b, "tori/pod4096", "fabric.dims=[4,4,8]", "engine.level=flow", `policy.routers=["shortest"]`)
	})
}
