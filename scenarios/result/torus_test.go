package result

import (
	"math"
	"strings"
	"testing"
)

// ringOf4 is a ring of four nodes with a route half round.
func ringOf4() Detail {
	l := &Torus{Dims: []int{4}, Unit: "messages"}
	for n := range 4 {
		l.Links = append(l.Links, TorusLink{From: n, To: (n + 1) % 4, Up: true, Wrap: n == 3, Load: 2})
	}
	l.Links[2].State = "down"
	l.Pairs = []string{" 0 00 000", "000  0 00", "00 000  0", "0 00 000 "}
	l.Routes = []TorusRoute{{Src: 3, Dst: 1, Links: []int{3, 0}}, {Src: 2, Dst: 2}}
	d := &Delay{MeanS: 1, P50S: 1, P99S: 2, MaxS: 3, Bins: []DelayBin{{0, 1, 5}, {1, 3, 5}}}
	return Detail{Policies: []Simulation{{Policy: "dor", Torus: l, Delay: d}}}
}

func TestCheckTorus(t *testing.T) {
	d := ringOf4()
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want  string
		spoil func(l *Torus, d *Delay)
	}{
		{"has the dimensions [0]", func(l *Torus, _ *Delay) { l.Dims[0] = 0 }},
		{"has the dimensions [4", func(l *Torus, _ *Delay) { l.Dims = append(l.Dims, math.MaxInt) }},
		{"joins nodes 0 and 4 of 4", func(l *Torus, _ *Delay) { l.Links[0].To = 4 }},
		{"joins nodes -1 and 1 of 4", func(l *Torus, _ *Delay) { l.Links[0].From = -1 }},
		{"lies in dimension 1 of 1", func(l *Torus, _ *Delay) { l.Links[2].Dim = 1 }},
		{`is "dead"`, func(l *Torus, _ *Delay) { l.Links[2].State = "dead" }},
		{"carries -1", func(l *Torus, _ *Delay) { l.Links[2].Load = -1 }},
		{"not a finite number", func(l *Torus, _ *Delay) { l.Links[2].Load = math.NaN() }},
		{"from node 3 to 7 of 4", func(l *Torus, _ *Delay) { l.Routes[0].Dst = 7 }},
		{"takes link 9 of 4", func(l *Torus, _ *Delay) { l.Routes[0].Links[1] = 9 }},
		{"is at node 0 and takes link 2, which leaves node 2", func(l *Torus, _ *Delay) { l.Routes[0].Links[1] = 2 }},
		{"ends at node 0, not at 1", func(l *Torus, _ *Delay) { l.Routes[0].Links = l.Routes[0].Links[:1] }},
		{"ends at node 2, not at 3", func(l *Torus, _ *Delay) { l.Routes[1].Dst = 3 }},
		{"has routes from 3 nodes of 4", func(l *Torus, _ *Delay) { l.Pairs = l.Pairs[1:] }},
		{"from node 1 to 3 nodes of 4", func(l *Torus, _ *Delay) { l.Pairs[1] = "000  0" }},
		{"from node 1 to 2 leaves node 1 by link 1 of 1", func(l *Torus, _ *Delay) { l.Pairs[1] = "000  1 00" }},
		{"from node 1 to 2 ends at 3", func(l *Torus, _ *Delay) { l.Pairs[1] = "000  00 00" }},
		{"out of order: median", func(_ *Torus, d *Delay) { d.P99S = 0.5 }},
		{"out of order: median", func(_ *Torus, d *Delay) { d.MeanS = -1 }},
		{"not a finite number", func(_ *Torus, d *Delay) { d.MaxS = math.Inf(1) }},
		{"bin 1 of the delays", func(_ *Torus, d *Delay) { d.Bins[1].FromS = 0.5 }},
		{"bin 0 of the delays", func(_ *Torus, d *Delay) { d.Bins[0].Packets = -1 }},
	} {
		d := ringOf4()
		tt.spoil(d.Policies[0].Torus, d.Policies[0].Delay)
		err := d.Check()
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}
