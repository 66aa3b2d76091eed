package calls

import (
	"slices"
	"testing"

	"sim/workloads/training"
)

// TestExpertSizes checks that messages from experts have the sizes of the messages to
// them, transposed. Each draw has other sizes with the same mean.
func TestExpertSizes(t *testing.T) {
	spec := training.Spec{ExpertExponent: 1.2}
	const n, mean = 5, 1000
	sizes := func(draw uint64, back bool) []int64 {
		z, err := DrawSizes(&spec, training.Call{Bytes: mean, Draw: draw, Transposed: back}, n, 7)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	there, back := sizes(3, false), sizes(3, true)
	sum := int64(0)
	for i := range n {
		for k := range n {
			sum += there[i*n+k]
			if there[i*n+k] != back[k*n+i] || i == k && there[i*n+k] != 0 {
				t.Errorf("%d B from %d to %d, %d B back", there[i*n+k], i, k, back[k*n+i])
			}
		}
	}
	if sum != n*(n-1)*mean || slices.Max(there) < 2*mean {
		t.Errorf("%d B in all, the largest %d; want a mean of %d, and far from it", sum, slices.Max(there), mean)
	}
	if slices.Equal(there, sizes(4, false)) {
		t.Error("two draws are the same")
	}
}
