package scenarios

import (
	"context"
	"testing"
)

// BenchmarkPod runs an all-to-all on a full pod of 4,096 chips: paths, loads and 200 million
// packet hops.
func BenchmarkPod(b *testing.B) {
	s, err := Load("pod4096", nil)
	if err != nil {
		b.Fatal(err)
	}
	hops := 0.0
	for b.Loop() {
		o, err := Run(context.Background(), s, RunOptions{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		hops += o.Document.Rows[0].Metrics["packet_hops"]
	}
	b.ReportMetric(hops/b.Elapsed().Seconds(), "hops/s")
}
