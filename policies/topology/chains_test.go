package topology

import (
	"math"
	"math/rand/v2"
	"testing"

	"sim/fabric"
)

// drawPods returns a problem that consists of pods and bundles only. A pair of pods is
// joined with probability 2/3; some pods are joined to DP peer pods, and some pairs
// belong to two replicas.
func drawPods(rng *rand.Rand) *Problem {
	p := &Problem{Fabric: &fabric.Optical{Copies: 1}}
	pods := 2 + rng.IntN(4)
	for k := range pods {
		ports := 1 + rng.IntN(6)
		p.Ports = append(p.Ports, ports)
		p.Fabric.Pods = append(p.Fabric.Pods, fabric.Pod{Replica: k * 2 / (pods + rng.IntN(3)), Ports: ports})
	}

	add := func(a, b int) {
		ends := 1 + rng.IntN(2)
		p.Fabric.Bundles = append(p.Fabric.Bundles,
			fabric.Bundle{A: int32(a), B: int32(b), Peer: a == b, Ends: ends})
		p.addBundle(a, b, ends)
	}

	for a := range pods {
		for b := a; b < pods; b++ {
			if a == b && rng.IntN(3) == 0 || a != b && rng.IntN(3) > 0 {
				add(a, b)
			}
		}
	}

	return p
}

// TestChains checks the structure of podChains. Every bundle either joins neighbours of
// one chain and one replica, or is local to one of its ends: the one whose replica has
// the lower rank. A bundle may be outside the chains only if it would close a cycle or
// branch a chain.
func TestChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 21))
	for range 500 {
		p := drawPods(rng)
		rank := rng.Perm(2)
		z := newPodChains(p, rank)
		place := make([]int, len(p.Ports))
		seen := make([]int, len(p.Ports))
		for k, pod := range z.order {
			place[pod] = k
			seen[pod]++
		}
		times := make([]int, len(p.endPods)) // indexed by bundle
		joined := make([]int, len(p.Ports))
		chain := make([]int, len(p.Ports)) // first pod of the chain, indexed by pod
		for pod, e := range z.nextBundle {
			if seen[pod] != 1 {
				t.Fatalf("pod %d occurs %d times in the order %v, want 1", pod, seen[pod], z.order)
			}
			if k := place[pod]; k == 0 || z.nextBundle[z.order[k-1]] < 0 {
				for chain[pod] = pod; k < len(z.order); k++ {
					if chain[z.order[k]] = pod; z.nextBundle[z.order[k]] < 0 {
						break
					}
				}
			}
			if e < 0 {
				continue
			}
			times[e]++
			after := z.order[place[pod]+1]
			if q := p.endPods[e]; min(pod, after) != min(q[0], q[1]) ||
				max(pod, after) != max(q[0], q[1]) || p.replica(pod) != p.replica(after) {
				t.Fatalf("bundle %d of pods %v joins %d and %d", e, q, pod, after)
			}
			joined[pod]++
			joined[after]++
		}
		for pod, list := range z.localBundles {
			for _, e := range list {
				times[e]++
				q := p.endPods[e]
				want := q[0]
				if rank[p.replica(q[1])] < rank[p.replica(q[0])] {
					want = q[1]
				}
				if pod != want {
					t.Fatalf("pod %d has local bundle %d of pods %v, want pod %d", pod, e, q, want)
				}
				if p.replica(q[0]) == p.replica(q[1]) && chain[q[0]] != chain[q[1]] &&
					joined[q[0]] < 2 && joined[q[1]] < 2 {
					t.Fatalf("bundle %d of pods %v is in no chain: order %v, next %v", e, q, z.order,
						z.nextBundle)
				}
			}
		}
		for e, n := range times {
			if n != 1 {
				t.Fatalf("bundle %d occurs %d times in chains and local bundles, want 1", e, n)
			}
		}
	}
}

// TestCheapestOfChains compares podChains.minimise with an enumeration of all topologies
// of a box. Chain bundles count at both ends and local bundles at their paying end. The
// result is infinite if nothing fits.
func TestCheapestOfChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 21))
	none := 0
	for range 1000 {
		p := drawPods(rng)
		z := newPodChains(p, rng.Perm(2))
		for range 2 { // the second call reuses the tables of the first
			n := len(p.endPods)
			lo, hi, cost := make([]int, n), make([]int, n), make([][]float64, n)
			for e := range n {
				lo[e] = 1
				if rng.IntN(4) == 0 {
					lo[e] = 2
				}
				hi[e] = lo[e] + rng.IntN(2)
				for range hi[e] {
					cost[e] = append(cost[e], float64(rng.IntN(20)))
				}
			}
			// value returns the cost of a topology, or infinity if it exceeds the ports.
			value := func(x []int) float64 {
				free := append([]int(nil), p.Ports...)
				sum := 0.0
				for pod, e := range z.nextBundle {
					if e >= 0 {
						p.allocate(free, int(e), x[e])
					}
					for _, e := range z.localBundles[pod] {
						free[pod] -= x[e] * p.portsPerEnd[e]
					}
				}
				for e, n := range x {
					sum += cost[e][n-1]
				}
				for _, n := range free {
					if n < 0 {
						return math.Inf(1)
					}
				}
				return sum
			}
			want := math.Inf(1)
			x := append([]int(nil), lo...)
			for {
				want = min(want, value(x))
				e := 0
				for e < n && x[e] == hi[e] {
					x[e] = lo[e]
					e++
				}
				if e == n {
					break
				}
				x[e]++
			}
			got := z.minimise(p, lo, hi, cost, x)
			if got != want {
				t.Fatalf("cheapest is %g, want %g: ports %v, bundles %v of %v ports, %v to %v, cost %v",
					got, want, p.Ports, p.endPods, p.portsPerEnd, lo, hi, cost)
			}
			if math.IsInf(want, 1) {
				none++
				continue
			}
			for e := range x {
				if x[e] < lo[e] || x[e] > hi[e] {
					t.Fatalf("%d circuits of bundle %d are outside of the box from %d to %d", x[e], e,
						lo[e], hi[e])
				}
			}
			if value(x) != want {
				t.Fatalf("circuits %v cost %g, want %g", x, value(x), want)
			}
		}
	}

	if none < 100 || none > 1900 {
		t.Errorf("no circuits fit in %d of 2000 boxes", none)
	}
}

// TestRotorTurns compares matchings and topologies of rotor with a direct construction:
// first fit of the bundles in order, and switches that move to their next matching in
// turn, each with its share of a pod's ports.
func TestRotorTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 21))
	for range 300 {
		p := drawPods(rng)
		if len(p.endPods) == 0 {
			continue
		}
		m := &ruleInput{p: p}
		for range p.endPods {
			m.maxCircuits = append(m.maxCircuits, 1+rng.IntN(4))
		}
		matching, matchings := m.matchings()
		used := 0
		for e, q := range p.endPods {
			want := 0
			for free := false; !free; {
				free = true
				for f, r := range p.endPods[:e] {
					if matching[f] == want && (q[0] == r[0] || q[0] == r[1] || q[1] == r[0] || q[1] == r[1]) {
						free = false
						want++
						break
					}
				}
			}
			if matching[e] != want {
				t.Fatalf("bundle %d of %v is in matching %d, want %d", e, p.endPods, matching[e], want)
			}
			used = max(used, want+1)
		}
		if matchings != used {
			t.Fatalf("%d matchings, want %d", matchings, used)
		}
		switches := 1 + rng.IntN(4)
		turn := make([]int, switches) // matching of each switch
		share := make([][]int, switches)
		for s := range turn {
			turn[s] = s % matchings
			for _, ports := range p.Ports {
				share[s] = append(share[s], (ports+switches-1-s)/switches)
			}
		}
		all := m.rotorTopologies(matching, matchings, switches)
		if len(all) != matchings*switches {
			t.Fatalf("%d topologies of %d matchings and %d switches", len(all), matchings, switches)
		}
		for k, got := range all {
			for e, q := range p.endPods {
				want := 0
				for s := range turn {
					if turn[s] == matching[e] {
						want += min(share[s][q[0]], share[s][q[1]]) / p.portsPerEnd[e]
					}
				}
				if want = min(want, m.maxCircuits[e]); got[e] != want {
					t.Fatalf("topology %d has %d circuits of bundle %d, want %d: %d switches, ports %v",
						k, got[e], e, want, switches, p.Ports)
				}
			}
			s := k % switches // moves before the next topology
			turn[s] = (turn[s] + 1) % matchings
		}
	}
}

// TestRotation checks the default period (ten delays, at least 10 ms) and Carries:
// circuits must stay up longer than a change takes, and if a change stops all circuits,
// the switches share the period.
func TestRotation(t *testing.T) {
	const ms = 1_000_000_000 // in ticks
	for _, c := range []struct {
		o       RotorOptions
		s       SwitchTiming
		want    int64
		carries bool
	}{
		{RotorOptions{Period: 7, Switches: 4}, SwitchTiming{Delay: 6}, 7, true},
		{RotorOptions{Period: 7, Switches: 4}, SwitchTiming{Delay: 7}, 7, false},
		{RotorOptions{Period: 28, Switches: 4}, SwitchTiming{Delay: 6, StopsAll: true}, 28, true},
		{RotorOptions{Period: 28, Switches: 4}, SwitchTiming{Delay: 7, StopsAll: true}, 28, false},
		{RotorOptions{Period: 8, Switches: 0}, SwitchTiming{Delay: 7, StopsAll: true}, 8, true},
		{RotorOptions{Switches: 4}, SwitchTiming{Delay: ms}, 10 * ms, true},
		{RotorOptions{Switches: 4}, SwitchTiming{Delay: ms + 1}, 10*ms + 10, true},
		{RotorOptions{Switches: 4}, SwitchTiming{}, 10 * ms, true},
		{RotorOptions{Switches: 10}, SwitchTiming{Delay: 2 * ms, StopsAll: true}, 20 * ms, false},
		{RotorOptions{Switches: 9}, SwitchTiming{Delay: 2 * ms, StopsAll: true}, 20 * ms, true},
	} {
		if got := c.o.period(c.s.Delay); int64(got) != c.want {
			t.Errorf("%+v at %+v: period %d, want %d", c.o, c.s, got, c.want)
		}
		if got := c.o.Carries(c.s); got != c.carries {
			t.Errorf("%+v at %+v: carries %v, want %v", c.o, c.s, got, c.carries)
		}
	}
}
