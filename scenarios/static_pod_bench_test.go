package scenarios

import "testing"

// BenchmarkStaticPod measures the loads of all-to-all traffic on 16x16x16 chips.
func BenchmarkStaticPod(b *testing.B) {
	for _, router := range []string{"dor", "wild-first", "shortest", "ecmp"} {
		b.Run(router, func(b *testing.B) {
			benchmarkRun(b, "tori/pod4096", "engine.level=static", `policy.routers=["`+router+`"]`)
		})
	}
}
