package flow

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestExactBits compares sums of products with the exact sums. Each sum has an error of at most 100 bits
// below its largest part.
func TestExactBits(t *testing.T) {
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	rapid.Check(t, func(t *rapid.T) {
		var sum exactBits
		want, largest := exact(0), 0.0
		for range rapid.IntRange(1, 30).Draw(t, "terms") {
			rate := rapid.Float64Range(-1, 1).Draw(t, "rate")
			ticks := float64(rapid.Int64Range(1, 1e15).Draw(t, "ticks"))
			sum = sum.plusProduct(rate, ticks)
			want.Add(want, new(big.Float).SetPrec(400).Mul(exact(rate), exact(ticks)))
			largest = max(largest, ticks)
		}
		got := new(big.Float).SetPrec(400).Add(exact(sum.high), exact(sum.low))
		if d, _ := got.Sub(got, want).Float64(); d > largest*0x1p-100 || d < -largest*0x1p-100 {
			t.Fatalf("sum %v + %v is off by %v", sum.high, sum.low, d)
		}
		if d := sum.minus(sum).value(); d != 0 {
			t.Fatalf("sum minus itself is %v", d)
		}
	})
}
