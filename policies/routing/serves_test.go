package routing

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/torus"
)

// TestCheckServes verifies that CheckServes agrees with Route on tori with failed links.
func TestCheckServes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dims := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 3).Draw(r, "dims")
		twist := ""
		if len(dims) == 3 && dims[0] == dims[1] && dims[2] == 2*dims[1] && dims[0]%2 == 0 {
			twist = rapid.SampledFrom([]string{"", "001010"}).Draw(r, "twist")
		}
		nodes := 1
		for _, d := range dims {
			nodes *= d
		}
		var f torus.Faults
		for range rapid.IntRange(0, 3).Draw(r, "down") {
			d := rapid.IntRange(0, len(dims)-1).Draw(r, "dim")
			h, err := torus.ParseHop(fmt.Sprintf("%d %s+", rapid.IntRange(0, nodes-1).Draw(r, "node"), torus.DimName(d)))
			if err != nil {
				r.Fatal(err)
			}
			if dims[d] > 1 {
				f.Links = append(f.Links, h)
			}
		}
		p := torusProblem(t, f, twist, dims...)
		for _, c := range []struct {
			name string
			with Settings
		}{
			{name: "dor"}, {name: "wild-first"}, {name: "wild-first", with: Settings{WildFirst: WildFirst{Use: UseAll}}},
			{name: "wild-first", with: Settings{WildFirst: WildFirst{Use: UseNeeded}}},
			{name: "multipath", with: Settings{Multipath: Multipath{Routes: 4, Over: OverWildFirst}}},
		} {
			o, row := Options{Settings: c.with, Seed: 3}, ByName(c.name)
			_, err := row.Router.Route(context.Background(), p, o)
			if checked, serveErr := row.CheckServes(p, o); !checked || errors.Is(serveErr, ErrUnserved) != errors.Is(err, ErrUnserved) {
				r.Fatalf("%s on %v %q, down %v: %v, and routing %v", c.name, dims, twist, f.Links, serveErr, err)
			}
		}
	})
}
