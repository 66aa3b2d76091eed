package plots

import (
	"io"
	"testing"

	"sim/plots/sheet"
)

// BenchmarkAll draws all figures of a run of 16 stages and 128 micro-batches under six policies.
func BenchmarkAll(b *testing.B) {
	for _, format := range sheet.Formats {
		b.Run(format, func(b *testing.B) {
			doc, d := synthetic(large)
			b.ReportAllocs()
			for b.Loop() {
				figs, err := every(doc, d)
				if err != nil {
					b.Fatal(err)
				}
				for _, f := range figs {
					if err := f.Write(io.Discard, format); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkFigure draws each figure of that run separately.
func BenchmarkFigure(b *testing.B) {
	figs, err := All(synthetic(large))
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range figs {
		b.Run(f.Name, func(b *testing.B) {
			for b.Loop() {
				if err := f.Write(io.Discard, "png"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
