package scenarios

import "testing"

// BenchmarkFlowLevel simulates transfers without symmetry at level flow. The first case is a
// direct all-reduce of 64 MB with a failed optical switch. The others are all-to-alls under
// router shortest: messages end one after the other, or all have equal rates.
func BenchmarkFlowLevel(b *testing.B) {
	b.Run("direct", func(b *testing.B) {
		benchmarkRun(b, "compose/all-reduce-torus", `policy.collectives=["direct"]`)
	})
	for _, dims := range []string{"[4,4,8]", "[8,8,8]", "[16,16,16]"} {
		b.Run("all-to-all"+dims, func(b *testing.B) {
			benchmarkRun(b, "tori/pod4096", "fabric.dims="+dims, "engine.level=flow",
				`policy.routers=["shortest"]`)
		})
	}
}
