package reconfigure

import (
	"context"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// tinyPlan is a state between two slots of the reference below.
type tinyPlan struct {
	// Chunks by GPU and destination; chunks in transit may not rest across a reconfiguration.
	waiting, transit [4][4]int8
	topology, phases int
}

// tinyTopologies returns all topologies that k switches can form for n GPUs: links from
// each GPU, once per switch.
func tinyTopologies(n, k int) (list [][][2]int) {
	var switches [][][2]int
	var permute func(links [][2]int, used int)
	permute = func(links [][2]int, used int) {
		u := len(links)
		if u == n {
			switches = append(switches, append([][2]int(nil), links...))
			return
		}
		for v := range n {
			if used>>v&1 == 0 {
				permute(append(links, [2]int{u, v}), used|1<<v)
			}
		}
	}
	permute(nil, 0)
	var join func(links [][2]int, from, left int)
	join = func(links [][2]int, from, left int) {
		if left == 0 {
			list = append(list, append([][2]int(nil), links...))
			return
		}
		for i := from; i < len(switches); i++ {
			join(append(links[:len(links):len(links)], switches[i]...), i, left-1)
		}
	}
	join(nil, 0, k)
	return list
}

// tinyMinSlots returns the minimum slots of all plans on up to most topologies. It is a
// breadth-first search over all transmissions in each slot, on all topologies in any order.
func tinyMinSlots(p *plan.Problem, maxTopologies int, relay bool) int64 {
	n := p.GPUs
	topologies := tinyTopologies(n, p.Degree)
	var first tinyPlan
	for f, c := range p.Chunks {
		first.waiting[f/n][f%n] = int8(c)
	}
	level := map[tinyPlan]bool{}
	enter := func(s tinyPlan, into map[tinyPlan]bool) {
		if s.phases > 0 {
			into[s] = true
		}
		if s.phases < maxTopologies && s.transit == ([4][4]int8{}) {
			s.phases++
			for s.topology = range topologies {
				into[s] = true
			}
		}
	}
	enter(first, level)
	for slots := int64(1); ; slots++ {
		next := map[tinyPlan]bool{}
		for s := range level {
			var send func(link int, left, after tinyPlan)
			done := false
			send = func(link int, left, after tinyPlan) {
				if link == len(topologies[s.topology]) {
					if after.waiting == ([4][4]int8{}) && after.transit == ([4][4]int8{}) {
						done = true
					}
					enter(after, next)
					return
				}
				send(link+1, left, after)
				u, w := topologies[s.topology][link][0], topologies[s.topology][link][1]
				for v := range n {
					for _, transit := range []bool{false, true} {
						l, a := left, after
						from, at := &l.waiting[u][v], &a.waiting[u][v]
						if transit {
							from, at = &l.transit[u][v], &a.transit[u][v]
						}
						if u == w || *from == 0 {
							continue
						}
						*from--
						*at--
						switch {
						case v == w:
						case relay:
							a.waiting[w][v]++
						default:
							a.transit[w][v]++
						}
						send(link+1, l, a)
					}
				}
			}
			if send(0, s, s); done {
				return slots
			}
		}
		level = next
	}
}

// For random small unequal demands, "reconfigure-during+" takes the minimum slots for each
// number of topologies, with relaying and without. It is therefore optimal at each delay.
func TestSmallUnevenDemands(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	draws := 150
	if testing.Short() {
		draws = 20
	}
	for i := range draws {
		n := 3 + r.IntN(2)
		k := 1 + r.IntN(5-n) // 1 or 2 of 3 GPUs, 1 of 4
		p := &plan.Problem{GPUs: n, Degree: k, Chunks: make([]int32, n*n)}
		for chunks := 3 + r.IntN(4); chunks > 0; {
			if u, v := r.IntN(n), r.IntN(n); u != v {
				c := min(chunks, 1+r.IntN(3))
				p.Chunks[u*n+v] += int32(c)
				chunks -= c
			}
		}
		if _, uniform := p.Uniform(); uniform {
			continue
		}
		var o Options
		o.Plus.Relay, o.Plus.Others = i%2 == 0, r.IntN(4) > 0
		s := newTestSet(t, p, o)
		list, err := s.Candidates(context.Background(), "reconfigure-during+")
		if err != nil {
			t.Fatal(err)
		}
		const maxTopologies = 3
		got, want := minSlots(list, maxTopologies), make([]int64, maxTopologies+1)
		alone, err := pack.Exhaustive(p, o.Plus.Relay, nil, nil) // without plans that are known
		if err != nil {
			t.Fatal(err)
		}
		searched := minSlots(alone, maxTopologies)
		for d := 1; d <= maxTopologies; d++ {
			if want[d] = tinyMinSlots(p, d, o.Plus.Relay); got[d] != want[d] || searched[d] != want[d] {
				t.Errorf("%d GPUs of degree %d, chunks %v, relay %v: %d slots on %d topologies, %d by search alone, want %d", n, k, p.Chunks, o.Plus.Relay, got[d], d, searched[d], want[d])
			}
		}
		const slot = 40 * engine.Microsecond
		for _, delay := range []engine.Time{0, 5 * engine.Microsecond, slot, 3 * slot} {
			best, err := s.Best(context.Background(), "reconfigure-during+", func(c *plan.Candidate) engine.Time { return c.Cost(delay, slot) })
			if err != nil {
				t.Fatal(err)
			}
			for d := 1; d <= maxTopologies; d++ {
				if other := engine.Time(d)*delay + engine.Time(want[d])*slot; best.Cost(delay, slot) > other {
					t.Errorf("chunks %v, delay %v: %v, and %v on %d topologies", p.Chunks, delay, best.Cost(delay, slot), other, d)
				}
			}
		}
	}
}
