package queue

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkEmbedded is what the queue adds to an item that takes no time: publishing, running, storing, fetching and
// removing 2000 items on a server in this process with two workers, the server's start and end included.
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
