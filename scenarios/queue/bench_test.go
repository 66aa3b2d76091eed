package queue

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkEmbedded measures the overhead of the queue per item: publishing, running,
// storing, reading and removing 2000 empty items on an embedded server with two workers,
// including the start and end of the server.
func BenchmarkEmbedded(b *testing.B) {
	for _, n := range []int{2000, 10000} {
		b.Run(fmt.Sprint("items=", n), func(b *testing.B) {
			items := numbered(n)
			for b.Loop() {
				got := 0
				err := Publish(context.Background(), Options{Peer: Peer{URL: EmbeddedURL, Version: "v", Workers: 2}, Embed: embed, Name: "bench", Run: echo}, items, func(r Result) error {
					got++
					return nil
				})
				if err != nil || got != n {
					b.Fatalf("%d of %d results, %v", got, n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
		})
	}
}
