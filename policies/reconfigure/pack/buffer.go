package pack

import (
	"errors"
	"fmt"

	"sim/policies/reconfigure/plan"
)

// limit finds a schedule within o.Buffer chunks in transit at any GPU: with few chunks at rest across reconfigurations,
// or with none, whichever takes fewer slots; simulated tight where it must be. w.spread holds a spread with o.Relay.
func (w *worker) limit(p *plan.Problem, net *network, o Options, race *race) (*Schedule, error) {
	var best *Schedule
	consider := func(r *Schedule) {
		if !r.within(o.Buffer, &w.player) {
			r.limit = o.Buffer
			list := r.segments()
			var at [][]int32
			at, r.Slots = r.tight(list, w.spread.stop)
			r.Total = 0
			for _, s := range r.Slots {
				r.Total += int64(s)
			}
			r.Buffer = r.peak(list, at)
		}
		if best == nil || r.Total < best.Total {
			best = r
		}
	}
	// So many may rest before a phase and so many after it, and there is room for one on its way.
	if o.Relay && w.spread.unrest((o.Buffer-1)/2) {
		r := w.spread.keep(p)
		r.play(&w.player)
		consider(r)
	}
	o.Relay = false
	r, err := w.best(p, net, o, race)
	if err == nil {
		consider(r)
	} else if !errors.Is(err, ErrUnreachable) && !errors.Is(err, errLost) {
		return nil, err
	}
	if best == nil {
		return nil, fmt.Errorf("%w: not all can arrive without resting across a reconfiguration", ErrBuffer)
	}
	return best, nil
}

// within finds r.Buffer and says whether it is at most limit.
func (r *Schedule) within(limit int32, p *Player) bool {
	list := r.segments()
	r.Buffer = r.peak(list, r.times(list, p))
	return r.Buffer <= limit
}

// peak is the most chunks in transit at a GPU between slots.
func (r *Schedule) peak(list []segments, at [][]int32) (most int32) {
	holds := make([]int32, r.problem.GPUs)
	for i := range list {
		s := &list[i]
		// The crossings by slot.
		first := make([]int32, r.Slots[i]+1)
		for _, t := range at[i] {
			first[t+1]++
		}
		for t := range r.Slots[i] {
			first[t+1] += first[t]
		}
		type crossing struct {
			edge                  int32
			fromSource, toDestiny bool
		}
		order := make([]crossing, len(at[i]))
		for j := range s.Len() {
			for h := s.Start[j]; h < s.Start[j+1]; h++ {
				t := at[i][h]
				order[first[t]] = crossing{s.Link[h], h == s.Start[j] && s.rests[j]&before == 0,
					h == s.Start[j+1]-1 && s.rests[j]&after == 0}
				first[t]++
			}
		}
		for a, t := 0, 0; a < len(order); t++ {
			end := int(first[t]) // first[t] has moved on to where slot t ends
			for _, c := range order[a:end] {
				e := r.Topologies[i][c.edge]
				if !c.fromSource {
					holds[e.From]--
				}
				if !c.toDestiny {
					holds[e.To]++
				}
			}
			for _, c := range order[a:end] {
				most = max(most, holds[r.Topologies[i][c.edge].To])
			}
			a = end
		}
	}
	return most
}

// unrest moves chunks to paths within one phase until at most cap of them rest at any GPU across any reconfiguration.
// ok is false where a flow has no such path.
func (s *spread) unrest(cap int32) (ok bool) {
	n, d := s.net.n, s.net.phases
	held := make([]int32, d*n) // [i*n+u]: at u when phase i begins
	count := func(c, x int32) (most int32) {
		way := s.way(c)
		for j := 1; j < len(way); j++ {
			u := s.net.from(way[j])
			for i := s.net.phase[way[j-1]] + 1; i <= s.net.phase[way[j]]; i++ {
				held[int(i)*n+int(u)] += x
				most = max(most, held[int(i)*n+int(u)])
			}
		}
		return most
	}
	for c, x := range s.count {
		count(int32(c), x)
	}
	var way []int32
	for u := range n {
		s.stop.Check()
		grown := false
		for v := range n {
			f := int32(u*n + v)
			for j := range s.many[f] {
				c := s.columns[f][j]
				direct := int32(-1)
				for s.count[c] > 0 && count(c, 0) > cap {
					if !grown {
						s.current()
						s.tree.grow(s.net, int32(u), false)
						grown = true
					}
					if s.tree.cost[v] >= far {
						return false
					}
					if direct < 0 {
						way = s.tree.way(way[:0], v)
						if direct = s.straight(f, c, way); direct < 0 {
							direct = s.add(f, way)
						}
					}
					if direct < 0 {
						// All columns are used: this one gives way whole.
						x := s.count[c]
						count(c, -x)
						s.shift(c, -x)
						direct = s.add(f, way)
						s.shift(direct, x)
						break
					}
					count(c, -1)
					s.shift(c, -1)
					s.shift(direct, 1)
				}
			}
		}
	}
	return true
}

// straight returns a column of a flow, other than c, within one phase, if way is not cheaper; -1 if none.
func (s *spread) straight(f, c int32, way []int32) int32 {
	price := 0.0
	for _, l := range way {
		i := &s.phases[s.links[l].phase]
		price += s.links[l].weight*i.scale + i.flat
	}
	for _, o := range s.columns[f][:s.many[f]] {
		w := s.way(o)
		if o != c && len(w) > 0 && s.net.phase[w[0]] == s.net.phase[w[len(w)-1]] && s.cost(o) <= price*(1+1e-9) {
			return o
		}
	}
	return -1
}
