package rounds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"sim/policies/reconfigure/plan"
)

// A search finds the same candidates for requests in any order and with any limits. They
// take no more slots than Candidates if all bases reach this number of topologies, and the
// same slots for the circulant base.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 12).Draw(t, "n")
		p := plan.UniformProblem(n, rapid.IntRange(1, min(3, n-1)).Draw(t, "k"), 1)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "demand"), 1))
		if rapid.Bool().Draw(t, "unequal") {
			for i, c := range p.Chunks {
				if c > 0 {
					p.Chunks[i] = r.Int32N(5)
				}
			}
		}
		o := Options{Base: rapid.SampledFrom([]string{"", Circulant}).Draw(t, "base")}
		all, err := Candidates(p, o)
		if err != nil {
			t.Fatal(err)
		}
		want := map[int]string{}
		for range 3 {
			s, err := NewSearch(p, o)
			if err != nil {
				t.Fatal(err)
			}
			var building sync.WaitGroup
			for _, d := range r.Perm(n + 1) {
				d++
				if below := r.Int64N(40); r.IntN(2) == 0 {
					if c, err := s.At(d, below, nil); err != nil || c != nil && c.Slots >= below {
						t.Fatalf("%d topologies below %d slots: %+v %v", d, below, c, err)
					}
				}
				c, err := s.At(d, math.MaxInt64, nil)
				if err != nil {
					t.Fatal(err)
				}
				text := fmt.Sprint(c)
				if c != nil {
					building.Go(func() { _, _ = c.Build(0, nil) }) // concurrently with the search
					built, err := c.Build(0, nil)
					if err != nil || built.Seal() != nil || built.TotalSlots() != c.Slots {
						t.Fatalf("%+v: %+v %v", c, built, err)
					}
					text = fmt.Sprint(c.Origin, c.Slots, built.Topologies, built.Tx)
				}
				if was, ok := want[d]; ok && was != text {
					t.Fatalf("%d topologies: %s, in another order of requests %s", d, text, was)
				}
				want[d] = text
				for _, a := range all {
					if a.Reconfigurations == d && (c == nil || c.Slots > a.Slots || o.Base == Circulant && c.Slots < a.Slots) {
						t.Fatalf("%d topologies: %+v, want %+v", d, c, a)
					}
				}
			}
			building.Wait()
		}
	})
}
