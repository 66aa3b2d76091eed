package engine_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"sim/engine"
)

func TestValidate(t *testing.T) {
	two := func() *engine.Network {
		return &engine.Network{Links: []engine.Link{{Rate: 1}, {Rate: 0}}, Groups: []engine.Group{{Rate: 5}}}
	}
	for _, c := range []struct {
		name    string
		corrupt func(n *engine.Network)
		want    string // "" if the network is valid
	}{
		{"sound", func(n *engine.Network) {}, ""},
		{"changes at one time", func(n *engine.Network) { n.Changes = []engine.Change{{At: 3, Link: 1}, {At: 3, Link: 0, Rate: 2}} }, ""},
		{"negative link", func(n *engine.Network) { n.Links[1].Rate = -1 }, "link 1 has rate -1"},
		{"NaN link", func(n *engine.Network) { n.Links[0].Rate = math.NaN() }, "link 0 has rate NaN"},
		{"infinite group", func(n *engine.Network) { n.Groups[0].Rate = math.Inf(1) }, "group 0 has rate +Inf"},
		{"named", func(n *engine.Network) {
			n.Groups[0].Rate = -2
			n.ResourceNamer = func(int32) string { return "NIC" }
		}, "NIC has rate -2"},
		{"change of no link", func(n *engine.Network) { n.Changes = []engine.Change{{Link: 2}} }, "change 0 names link 2 of 2"},
		{"change of link -1", func(n *engine.Network) { n.Changes = []engine.Change{{Link: -1}} }, "change 0 names link -1 of 2"},
		{"change to NaN", func(n *engine.Network) { n.Changes = []engine.Change{{Rate: math.NaN()}} }, "change 0 of link 0 to NaN"},
		{"change before the start", func(n *engine.Network) { n.Changes = []engine.Change{{At: -1}} }, "change 0 of link 0"},
		{"changes out of order", func(n *engine.Network) { n.Changes = []engine.Change{{At: 3}, {At: 2}} }, "change 1 is earlier"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := two()
			c.corrupt(n)
			err := n.Validate()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestResources(t *testing.T) {
	n := &engine.Network{Links: []engine.Link{{Rate: 1}, {Rate: 2}}, Groups: []engine.Group{{Rate: 3}, {Rate: 4}}}
	if n.Resources() != 4 || n.GroupResource(1) != 3 {
		t.Fatalf("%d resources, group 1 is %d", n.Resources(), n.GroupResource(1))
	}
	for r := range int32(4) {
		if n.Rate(r) != float64(r+1) {
			t.Errorf("rate of %s is %g", n.ResourceName(r), n.Rate(r))
		}
	}
	if n.ResourceName(1) != "link 1" || n.ResourceName(2) != "group 0" {
		t.Errorf("names %q and %q", n.ResourceName(1), n.ResourceName(2))
	}
}

func TestCap(t *testing.T) {
	var r engine.Routes
	if !math.IsInf(r.Cap(0, 3), 1) {
		t.Error("no caps, but a cap")
	}
	r.FlowCap = []float64{0, 2}
	if !math.IsInf(r.Cap(0, 3), 1) || r.Cap(1, 3) != 6 {
		t.Errorf("caps %g and %g, want +Inf and 6", r.Cap(0, 3), r.Cap(1, 3))
	}
}

func TestFromSeconds(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    engine.Time
		bad     bool
	}{
		{0, 0, false},
		{1, engine.Second, false},
		{-1.5, -3 * engine.Second / 2, false},
		{0.4e-12, 0, false},
		{0.6e-12, 1, false},
		{46.940689e-3, 46940689 * engine.Nanosecond, false},
		{106 * 86400, 106 * 86400 * engine.Second, false},
		{107 * 86400, 0, true},
		{-107 * 86400, 0, true},
		{math.NaN(), 0, true},
		{math.Inf(1), 0, true},
		{math.Inf(-1), 0, true},
	} {
		got, err := engine.FromSeconds(c.seconds)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("FromSeconds(%g) = %d, %v; want %d", c.seconds, got, err, c.want)
		}
	}
}

func TestTimeString(t *testing.T) {
	for want, at := range map[string]engine.Time{
		"0s": 0, "1e-12s": 1, "3.592202s": 3592202 * engine.Microsecond, "never": engine.Never,
	} {
		if at.String() != want {
			t.Errorf("%d is %q, want %q", int64(at), at, want)
		}
	}
}

// TestHops: path lengths over the included links that are up, from one node after the other.
func TestHops(t *testing.T) {
	n := &engine.Network{Nodes: 4, Links: []engine.Link{{From: 0, To: 1, Rate: 1}, {From: 1, To: 2, Rate: 1}, {From: 2, To: 3, Rate: 1}, {From: 0, To: 3}, {From: 0, To: 2, Rate: 1}}}
	for _, c := range []struct {
		include func(int) bool
		from    int32
		want    []int32
	}{
		{nil, 0, []int32{0, 1, 1, 2}},
		{nil, 2, []int32{-1, -1, 0, 1}},
		{func(link int) bool { return link < 4 }, 0, []int32{0, 1, 2, 3}},
	} {
		far := n.Hops(c.include)
		for range 2 { // an earlier call has no effect
			if far(3); !slices.Equal(far(c.from), c.want) {
				t.Errorf("from %d: %v, want %v", c.from, far(c.from), c.want)
			}
		}
	}
}
