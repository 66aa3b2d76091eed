package plan

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Transmissions are sorted by their fields, for any values.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int32{1, 2, 300, 70_000, 1 << 30} {
		for _, n := range []int{0, 1, 30, 1000, 20_000} {
			list := make([]Tx, n)
			draw := func() int32 { return rng.Int32N(limit) - limit/4 }
			for i := range list {
				list[i] = Tx{draw(), draw(), draw(), draw(), draw(), draw(), draw()}
			}
			want := slices.Clone(list)
			slices.SortFunc(want, func(a, b Tx) int {
				return slices.Compare([]int32{a.Phase, a.Slot, a.From, a.To, a.Src, a.Dst, a.Chunk}, []int32{b.Phase, b.Slot, b.From, b.To, b.Src, b.Dst, b.Chunk})
			})
			if sortTx(list, 0, nil); !slices.Equal(list, want) {
				t.Errorf("%d transmissions of fields below %d are out of order", n, limit)
			}
		}
	}
}
