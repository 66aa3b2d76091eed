package scaleup_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
	"sim/fabric/scaleup"
)

// regular draws a topology of k random permutations, with loops and double edges, and omits some
// edges.
func regular(t *rapid.T, n, k int) scaleup.Topology {
	gpus := make([]int32, n)
	for i := range gpus {
		gpus[i] = int32(i)
	}
	var top scaleup.Topology
	for range k {
		for u, v := range rapid.Permutation(gpus).Draw(t, "permutation") {
			top = append(top, scaleup.Edge{From: int32(u), To: v})
		}
	}
	top = rapid.Permutation(top).Draw(t, "edges")
	return top[rapid.IntRange(0, len(top)/3).Draw(t, "without"):]
}

// TestSwitches: every edge gets one of k switches, and no switch has two edges out of or into a
// GPU.
func TestSwitches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 6).Draw(t, "k")
		top := regular(t, n, k)
		if err := top.Check(n, k); err != nil {
			t.Fatal(err)
		}
		switches, err := top.AssignSwitches(n, k)
		if err != nil || len(switches) != len(top) {
			t.Fatal(switches, err)
		}
		type port struct{ gpu, of int32 }
		out, in := map[port]bool{}, map[port]bool{}
		for i, e := range top {
			if switches[i] < 0 || int(switches[i]) >= k || out[port{e.From, switches[i]}] || in[port{e.To, switches[i]}] {
				t.Fatalf("edge %d of %v is on switch %d: %v", i, top, switches[i], switches)
			}
			out[port{e.From, switches[i]}], in[port{e.To, switches[i]}] = true, true
		}
	})
}

// TestCheck compares Check with a count of the links of each GPU.
func TestCheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 5).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "k")
		var top scaleup.Topology
		end := rapid.Map(rapid.IntRange(0, 30*n-1), func(x int) int32 {
			if x == 0 {
				return -1
			}
			return int32(x % (n + x/(30*n-1))) // n now and then
		})
		for range rapid.IntRange(0, 8).Draw(t, "edges") {
			top = append(top, scaleup.Edge{From: end.Draw(t, "from"), To: end.Draw(t, "to")})
		}
		good := true
		for u := range int32(n) {
			out, in := 0, 0
			for _, e := range top {
				if e.From == u {
					out++
				}
				if e.To == u {
					in++
				}
				good = good && min(e.From, e.To) >= 0 && int(max(e.From, e.To)) < n
			}
			good = good && max(out, in) <= k
		}
		err := top.Check(n, k)
		if (err == nil) != good || err != nil && !errors.Is(err, scaleup.ErrTopology) {
			t.Fatalf("%v: %v, want %t", top, err, good)
		}
		if _, err := top.AssignSwitches(n, k); (err == nil) != good {
			t.Fatalf("%v: %v, want %t", top, err, good)
		}
	})
	top := scaleup.Circulant(4, 1)
	top[3].To = 2
	if err := top.Check(4, 1); err == nil || !strings.Contains(err.Error(), "edge 3->2 is one too many into GPU 2, which has 1") {
		t.Error(err)
	}
}

// TestGeneralizedKautz: the edges equal the edges in the paper's Fig. 9, whose GPUs count from 1.
// For all n and k, every GPU has k links out and k links in.
func TestGeneralizedKautz(t *testing.T) {
	fig9 := [][2]int32{{8, 7}, {6, 5}, {4, 3}, {2, 1}, {8, 7}, {6, 5}, {4, 3}, {2, 1}}
	for i, e := range scaleup.GeneralizedKautz(8, 2) {
		if u := i / 2; e.From != int32(u) || e.To != fig9[u][i%2]-1 {
			t.Errorf("edge %d is %v", i, e)
		}
	}
	for n := 1; n <= 40; n++ {
		for k := 1; k <= 6; k++ {
			top := scaleup.GeneralizedKautz(n, k)
			if err := top.Check(n, k); err != nil || len(top) != n*k {
				t.Fatalf("n=%d k=%d: %d edges, %v", n, k, len(top), err)
			}
			// Its diameter is at most ceil(log_k n) (Imase and Itoh 1983).
			maxHops := 0
			for reach := 1; reach < n; reach *= max(k, 2) {
				maxHops++
			}
			if far := diameter(n, top); k > 1 && (far < 0 || far > maxHops) {
				t.Errorf("n=%d k=%d: diameter %d, want at most %d", n, k, far, maxHops)
			}
		}
	}
}

func diameter(n int, top scaleup.Topology) int {
	maxHops := 0
	start, edge := top.Outgoing(n)
	for s := range n {
		far := slices.Repeat([]int{-1}, n)
		far[s] = 0
		for queue := []int32{int32(s)}; len(queue) > 0; queue = queue[1:] {
			u := queue[0]
			for _, e := range edge[start[u]:start[u+1]] {
				if v := top[e].To; far[v] < 0 {
					far[v] = far[u] + 1
					queue = append(queue, v)
				}
			}
		}
		if slices.Min(far) < 0 {
			return -1
		}
		maxHops = max(maxHops, slices.Max(far))
	}
	return maxHops
}

// TestBuilders checks Circulant, Outgoing and Relabel against their definitions.
func TestBuilders(t *testing.T) {
	want := scaleup.Topology{{From: 0, To: 1}, {From: 0, To: 3}, {From: 1, To: 2}, {From: 1, To: 0}, {From: 2, To: 3}, {From: 2, To: 1}, {From: 3, To: 0}, {From: 3, To: 2}}
	if got := scaleup.Circulant(4, 1, 3); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		top := regular(t, n, rapid.IntRange(1, 3).Draw(t, "k"))
		start, edge := top.Outgoing(n)
		for u := range n {
			var neighbours []int32
			for i, e := range top {
				if int(e.From) == u && e.To != e.From {
					neighbours = append(neighbours, int32(i))
				}
			}
			if !slices.Equal(edge[start[u]:start[u+1]], neighbours) {
				t.Fatalf("out of %d: %v, want %v", u, edge[start[u]:start[u+1]], neighbours)
			}
		}
		label := rapid.Permutation(func() []int32 {
			l := make([]int32, n)
			for i := range l {
				l[i] = int32(i)
			}
			return l
		}()).Draw(t, "label")
		inverse := make([]int32, n)
		for u, l := range label {
			inverse[l] = int32(u)
		}
		other := top.Relabel(label)
		for i, e := range top {
			if other[i] != (scaleup.Edge{From: label[e.From], To: label[e.To]}) {
				t.Fatalf("%v becomes %v", e, other[i])
			}
		}
		if !slices.Equal(other.Relabel(inverse), top) {
			t.Fatal("there and back is another topology")
		}
	})
}

// TestDomain: the slot of the paper is 500 ns + 4 MB / 800 Gb/s = 40.5 us. Rounding adds less
// than a tick. The network of a topology has its links. Invalid domains are rejected.
func TestDomain(t *testing.T) {
	d := scaleup.Domain{GPUs: 3, Switches: 1, Rate: 800e9, Latency: 500 * engine.Nanosecond, Delay: 5}
	if got := d.Slot(4_000_000); got != 40_500*engine.Nanosecond {
		t.Errorf("%v", got)
	}
	d.Rate, d.Latency = 3e12, 7
	for bytes, want := range map[int64]engine.Time{1: 7 + 3, 3: 7 + 8, 4: 7 + 11, 3e6: 7 + 8e6, 3e6 + 1: 7 + 8e6 + 3} {
		if d.Slot(bytes) != want {
			t.Errorf("%d B: %v, want %v", bytes, d.Slot(bytes), want)
		}
	}
	if d.Rate = 1; d.Slot(1<<62) != engine.Never {
		t.Error(d.Slot(1 << 62))
	}
	d.Rate = 3e12
	n, err := d.Network(scaleup.Circulant(3, 2))
	if err != nil || n.Nodes != 3 || !slices.Equal(n.Links, []engine.Link{{From: 0, To: 2, Rate: 3e12, Latency: 7}, {From: 1, To: 0, Rate: 3e12, Latency: 7}, {From: 2, To: 1, Rate: 3e12, Latency: 7}}) {
		t.Errorf("%+v %v", n, err)
	}
	if n.ResourceName(1) != "link 1->0" {
		t.Error(n.ResourceName(1))
	}
	if _, err := d.Network(scaleup.Circulant(3, 1, 2)); !errors.Is(err, scaleup.ErrTopology) {
		t.Error(err)
	}
	for want, change := range map[string]func(d *scaleup.Domain){
		"1 GPUs; at least 2":        func(d *scaleup.Domain) { d.GPUs = 1 },
		"3 switches for 3 GPUs":     func(d *scaleup.Domain) { d.Switches = 3 },
		"0 switches":                func(d *scaleup.Domain) { d.Switches = 0 },
		"links of rate 0bps":        func(d *scaleup.Domain) { d.Rate = 0 },
		"it must be above 0":        func(d *scaleup.Domain) { d.Rate = d.Rate - d.Rate*2 },
		"reconfiguration delay bel": func(d *scaleup.Domain) { d.Delay = -1 },
		"a latency or a":            func(d *scaleup.Domain) { d.Latency = -1 },
	} {
		bad := d
		change(&bad)
		if err := bad.Check(); !errors.Is(err, scaleup.ErrDomain) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	inf := d
	inf.Rate = 1e308
	if inf.Rate *= 10; !errors.Is(inf.Check(), scaleup.ErrDomain) {
		t.Error("a rate without end")
	}
	if inf.Rate -= inf.Rate; !errors.Is(inf.Check(), scaleup.ErrDomain) {
		t.Error("a rate that is no number")
	}
}

// TestNetworkRejectsInvalid: an invalid domain or topology is rejected. Sorted orders the edges
// and leaves the topology unchanged.
func TestNetworkRejectsInvalid(t *testing.T) {
	good := scaleup.Domain{GPUs: 4, Switches: 1, Rate: 8e9, Latency: 3}
	ring := scaleup.Circulant(4, 1)
	n, err := good.Network(ring)
	if err != nil || len(n.Links) != 4 || n.Links[3] != (engine.Link{From: 3, To: 0, Rate: 8e9, Latency: 3}) || n.ResourceName(3) != "link 3->0" {
		t.Errorf("%+v, %v", n, err)
	}
	bad := good
	bad.GPUs = 0
	if _, err := bad.Network(ring); err == nil {
		t.Error("a domain of no GPUs has a network")
	}
	if _, err := good.Network(scaleup.Circulant(4, 1, 2)); !errors.Is(err, scaleup.ErrTopology) {
		t.Errorf("two links out of a GPU of one port: %v", err)
	}
	if (&scaleup.Domain{Rate: 0}).Slot(1) != engine.Never {
		t.Error("a chunk crosses a link of no rate")
	}
	mixed := scaleup.Topology{{2, 1}, {0, 3}, {2, 0}, {0, 1}}
	if got, want := mixed.Sorted(), (scaleup.Topology{{0, 1}, {0, 3}, {2, 0}, {2, 1}}); !slices.Equal(got, want) || mixed[0] != (scaleup.Edge{2, 1}) {
		t.Errorf("sorted: %v, want %v, and left: %v", got, want, mixed)
	}
}
