package routing

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/static"
	"sim/fabric/torus"
)

func must(t testing.TB, twist string, dims ...int) (*torus.Torus, *engine.Network, []engine.Flow) {
	t.Helper()
	o, err := torus.New(dims...)
	if err != nil {
		t.Fatal(err)
	}
	if twist != "" {
		if err := o.Twist(twist); err != nil {
			t.Fatal(err)
		}
	}
	n := &engine.Network{Nodes: int32(o.Nodes())}
	for _, l := range o.Links() {
		n.Links = append(n.Links, engine.Link{From: l.From, To: l.To, Rate: 400e9})
	}
	var all []engine.Flow
	for s := range int32(o.Nodes()) {
		for d := range int32(o.Nodes()) {
			if s != d {
				all = append(all, engine.Flow{Src: s, Dst: d})
			}
		}
	}
	return o, n, all
}

// TestRegularLoads: dimension-order routing meets the bound on the most loaded
// link of all-to-all on regular tori, and takes shortest ways.
func TestRegularLoads(t *testing.T) {
	for _, c := range []struct {
		dims []int
		max  int64
	}{{[]int{4, 4, 4}, 32}, {[]int{4, 4, 8}, 128}, {[]int{4, 8, 8}, 256}, {[]int{8, 8, 8}, 512}, {[]int{8, 4, 4}, 128}, {[]int{4, 4, 12}, 288}, {[]int{8}, 8}, {[]int{4, 4}, 8}} {
		o, n, all := must(t, "", c.dims...)
		p, err := DimensionOrder{}.Paths(o, all)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(n, all); err != nil {
			t.Fatal(err)
		}
		z := static.OfPaths(n, len(all), p)
		if z.Max != c.max {
			t.Errorf("%s: most loaded link carries %d, want %d", o, z.Max, c.max)
		}
		if want := o.Distances().Sum; z.SumHops != want {
			t.Errorf("%s: %d hops in all, shortest are %d", o, z.SumHops, want)
		}
	}
}

// TestTwistedWays: ways on twisted tori are shortest and dimensions in order,
// for every order.
func TestTwistedWays(t *testing.T) {
	for _, dims := range [][]int{{2, 2, 4}, {4, 4, 8}, {4, 8, 8}} {
		for _, order := range [][]int{nil, {0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
			o, n, all := must(t, torus.TPUv4, dims...)
			r := DimensionOrder{Order: order}
			p, err := r.Paths(o, all)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Check(n, all); err != nil {
				t.Fatal(err)
			}
			z := static.OfPaths(n, len(all), p)
			if want := o.Distances().Sum; z.SumHops != want {
				t.Errorf("%s: %d hops in all, shortest are %d", o, z.SumHops, want)
			}
			if least := static.LeastMax(z.SumHops, len(n.Links)); z.Max < least {
				t.Errorf("%s: %d is below the bound %d", o, z.Max, least)
			}
			order, err := r.order(o)
			if err != nil {
				t.Fatal(err)
			}
			place := make([]int, 3)
			for i, d := range order {
				place[d] = i
			}
			links := o.Links()
			for f := range int32(len(all)) {
				last := 0
				for _, l := range p.Of(f) {
					if now := place[links[l].Dim]; now < last {
						t.Fatalf("%s: flow %v goes back to dimension %d", o, all[f], links[l].Dim)
					} else {
						last = now
					}
				}
			}
		}
	}
}

func TestUnserved(t *testing.T) {
	o, _, all := must(t, "100100", 4, 4, 4)
	if _, err := (DimensionOrder{}).Paths(o, all); !errors.Is(err, ErrUnserved) {
		t.Errorf("mutual twists: %v", err)
	}
	o, _, all = must(t, "", 4, 4, 4)
	if _, err := (DimensionOrder{Order: []int{0, 1, 1}}).Paths(o, all); !errors.Is(err, ErrUnserved) || !strings.Contains(err.Error(), "does not have every dimension") {
		t.Errorf("order: %v", err)
	}
	if _, err := (DimensionOrder{}).Paths(o, []engine.Flow{{Src: 0, Dst: 64}}); err == nil {
		t.Error("node 64 of 64")
	}
}

func BenchmarkDimensionOrder(b *testing.B) {
	for _, dims := range [][]int{{4, 8, 8}, {8, 8, 8}} {
		b.Run(fmt.Sprint(dims), func(b *testing.B) {
			o, _, all := must(b, "", dims...)
			for b.Loop() {
				if _, err := (DimensionOrder{}).Paths(o, all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
