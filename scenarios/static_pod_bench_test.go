package scenarios

import "testing"

// BenchmarkStaticPod measures the link loads of an all-to-all on 16x16x16 chips, for each
// router.
func BenchmarkStaticPod(b *testing.B) {
	for _, router := range []string{"dor", "wild-first", "shortest", "ecmp"} {
		b.Run(router, func(b *testing.B) {
			benchmarkRun(b, "tori/pod4096", "engine.level=static", `policy.routers=["`+router+`"]`)
		})
	}
}
