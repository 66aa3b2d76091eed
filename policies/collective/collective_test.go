package collective

import (
	"errors"
	"sim/internal/numbers"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/fabric/torus"
	_ "sim/internal/testseed"
)

// drawTorus draws a torus, regular or twisted, with failed links and optical switches.
func drawTorus(t *rapid.T) (*torus.Torus, *engine.Network) {
	dims := rapid.SampledFrom([][]int{{4, 4}, {8}, {3, 5}, {2, 4}, {2, 2, 2}, {4, 4, 2}, {3, 3, 3}, {2, 2, 4}, {2, 4, 4}, {4, 4, 4}, {4, 4, 8}, {1, 5, 2}, {16}}).Draw(t, "dims")
	o, err := torus.New(dims...)
	if err != nil {
		t.Fatal(err)
	}
	if len(dims) == 3 && rapid.Bool().Draw(t, "twisted") {
		if err := o.Twist(rapid.StringOfN(rapid.RuneFrom([]rune("01")), 6, 6, -1).Draw(t, "twist")); err != nil {
			t.Fatal(err)
		}
	}
	var f torus.Faults
	if torus.CheckCubic(o) == nil && rapid.Bool().Draw(t, "ocs") {
		f.Switches = []torus.Switch{{Dim: rapid.IntRange(0, 2).Draw(t, "dim"), Index: rapid.IntRange(0, 15).Draw(t, "index")}}
	}
	for range rapid.IntRange(0, 2).Draw(t, "failed") {
		l := rapid.SampledFrom(o.Links()).Draw(t, "link")
		f.Links = append(f.Links, torus.Hop{Node: l.From, Dim: int(l.Dim), Up: l.Up})
	}
	h, err := o.Health(f)
	if err != nil {
		t.Fatal(err)
	}
	return o, o.Network(h, engine.Link{Rate: 400e9, Latency: rapid.SampledFrom([]engine.Time{0, 500 * engine.Nanosecond}).Draw(t, "latency")})
}

// drawGraph draws a connected graph whose links have several rates; some links have one direction
// only.
func drawGraph(t *rapid.T, maxNodes int32) *engine.Network {
	n := &engine.Network{Nodes: rapid.Int32Range(2, maxNodes).Draw(t, "nodes")}
	add := func(a, b int32, both bool) {
		l := engine.Link{From: a, To: b, Rate: rapid.SampledFrom([]float64{100e9, 200e9, 400e9}).Draw(t, "rate")}
		if n.Links = append(n.Links, l); both {
			l.From, l.To = b, a
			n.Links = append(n.Links, l)
		}
	}
	for a := int32(1); a < n.Nodes; a++ {
		add(rapid.Int32Range(0, a-1).Draw(t, "to"), a, true)
	}
	for range rapid.IntRange(0, 2*int(n.Nodes)).Draw(t, "more") {
		a, b := rapid.Int32Range(0, n.Nodes-1).Draw(t, "a"), rapid.Int32Range(0, n.Nodes-1).Draw(t, "b")
		if a != b {
			add(a, b, rapid.IntRange(0, 3).Draw(t, "both") > 0)
		}
	}
	return n
}

// drawProblem draws a call on a torus or a graph.
func drawProblem(t *rapid.T) *Problem {
	p := &Problem{}
	if rapid.Bool().Draw(t, "torus") {
		o, n := drawTorus(t)
		p.Network, p.Torus = n, o
	} else {
		p.Network = drawGraph(t, 9)
	}
	p.Group = rapid.Permutation(numbers.Below(p.Network.Nodes)).Draw(t, "group")
	if rapid.Bool().Draw(t, "sorted") {
		slices.Sort(p.Group)
	}
	if rapid.IntRange(0, 3).Draw(t, "part") == 0 {
		p.Group = p.Group[:rapid.IntRange(2, len(p.Group)).Draw(t, "ranks")]
	}
	n := len(p.Group)
	p.Kind = Kind(rapid.IntRange(0, len(kindNames)-1).Draw(t, "kind"))
	p.Bytes = rapid.Int64Range(1, 40000).Draw(t, "bytes")
	if p.Kind == AllToAll && n <= 16 && rapid.Bool().Draw(t, "sizes") {
		p.Bytes, p.Sizes = 0, rapid.SliceOfN(rapid.Int64Range(0, 3), n*n, n*n).Draw(t, "size")
	}
	if p.Sizes == nil && n >= 4 && rapid.IntRange(0, 2).Draw(t, "teams") == 0 {
		for left := n; left > 0; {
			size := left
			if left >= 4 {
				size = rapid.IntRange(2, left-2).Draw(t, "team")
			}
			p.Teams = append(p.Teams, size)
			left -= size
		}
		n = slices.Min(p.Teams)
	}
	p.Root = rapid.IntRange(0, n-1).Draw(t, "root")
	p.Peer = (p.Root + rapid.IntRange(1, n-1).Draw(t, "peer")) % n
	return p
}

// TestCheck: every algorithm either rejects a random call or serves it with a schedule that
// Schedule.Check accepts.
func TestCheck(t *testing.T) {
	served := map[string]map[Kind]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		var o Options
		o.Hierarchical = Hierarchical{
			Domain: rapid.SampledFrom([]int{1, 2, 3, 4, 8}).Draw(t, "domain"),
			Inner:  rapid.SampledFrom(Table).Draw(t, "inner").Name,
			Outer:  rapid.SampledFrom(Table).Draw(t, "outer").Name,
		}
		o.RingOrder = rapid.SampledFrom([]string{AutoOrder, RankOrder, FoldedOrder, HamiltonianOrder}).Draw(t, "order")
		o.OneWay = rapid.Bool().Draw(t, "one way")
		o.Machine = drawMachine(t)
		for _, r := range Table {
			s, err := r.Expand(t.Context(), p, o)
			if errors.Is(err, ErrUnserved) || r.Name == "hierarchical" && errors.Is(err, ErrCall) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", r.Name, err)
			}
			if len(s.Transfers) > 20000 {
				continue
			}
			if err := s.Check(); err != nil {
				t.Fatalf("%s: %v", r.Name, err)
			}
			if served[r.Name] == nil {
				served[r.Name] = map[Kind]int{}
			}
			served[r.Name][p.Kind]++
		}
	})
	for _, r := range Table {
		t.Log(r.Name, served[r.Name])
		if len(served[r.Name]) == 0 {
			t.Errorf("%s served nothing", r.Name)
		}
	}
}

// TestCheckFails: Schedule.Check finds a transfer that copies instead of adding, or adds instead
// of copying, and a transfer without its dependencies. Without -long, only every third transfer
// of long schedules is changed.
func TestCheckFails(t *testing.T) {
	o, err := torus.New(3, 3)
	if err != nil {
		t.Fatal(err)
	}
	p := &Problem{Call: Call{Kind: AllReduce, Group: numbers.Below(int32(9)), Bytes: 9000}, Network: o.Network(nil, engine.Link{Rate: 1e9}), Torus: o}
	for _, r := range Table {
		var opt Options
		opt.Hierarchical = Hierarchical{Domain: 3, Inner: "ring", Outer: "direct"}
		expand := func(t *testing.T) *Schedule {
			s, err := r.Expand(t.Context(), p, opt)
			if err != nil {
				t.Skip(err)
			}
			return s
		}
		t.Run(r.Name, func(t *testing.T) {
			whole := expand(t)
			if err := whole.Check(); err != nil {
				t.Fatal(err)
			}
			s := expand(t)
			transfers, after := slices.Clone(s.Transfers), slices.Clone(s.after)
			for i := range whole.Transfers {
				if i%3 > 0 && len(whole.Transfers) > 100 && !*long {
					continue
				}
				s.Transfers[i].Reduce = !s.Transfers[i].Reduce
				if s.Check() == nil {
					t.Fatalf("transfer %d of %d may as well reduce as copy", i, len(s.Transfers))
				}
				copy(s.Transfers, transfers)
				if len(s.After(i)) == 0 {
					continue
				}
				for k := range s.After(i) {
					s.After(i)[k] = -1
				}
				for k := range s.Transfers {
					s.Transfers[k].Previous = -1
				}
				if s.Check() == nil {
					t.Fatalf("transfer %d of %d need wait for nothing", i, len(s.Transfers))
				}
				copy(s.Transfers, transfers)
				copy(s.after, after)
			}
		})
	}
}
