package scenarios

import "testing"

// BenchmarkFlowLevel simulates as fluid what has no symmetry: a direct all-reduce of 64 MB with an optical switch down, and
// all to all under shortest, in which many end one after the other and in which all are even.
func BenchmarkFlowLevel(b *testing.B) {
	b.Run("direct", func(b *testing.B) {
		benchmarkRun(b, "compose/all-reduce-torus", `policy.collectives=["direct"]`)
	})
	for _, dims := range []string{"[4,4,8]", "[8,8,8]", "[16,16,16]"} {
		b.Run("all-to-all"+dims, func(b *testing.B) {
			benchmarkRun(b, "tori/pod4096", "fabric.dims="+dims, "engine.level=flow", `policy.routers=["shortest"]`)
		})
	}
}
