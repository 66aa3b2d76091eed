package flow_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// rateTolerance is the relative difference below which rates are considered equal. It covers
// the rounding of sums of a few terms.
const rateTolerance = 1e-9

// TestTraceSatisfiesDiscipline checks complete traces against the definition of their service,
// without simulating. Starts follow from ends, every transfer moves its bytes, no resource
// exceeds its capacity, and at all times the rates satisfy checkMaxMin or checkPriority.
func TestTraceSatisfiesDiscipline(t *testing.T) {
	eachService(t, func(t *testing.T, s flow.Service) {
		rapid.Check(t, func(t *rapid.T) {
			in := drawInstance(t, shape{tasks: 10, changes: rapid.Bool().Draw(t, "changing")})
			tr := in.run(t, s)
			in.checkTimes(t, tr)
			for _, m := range in.intervals(tr) {
				in.checkCapacity(t, m)
				switch s {
				case flow.MaxMin:
					in.checkMaxMin(t, m)
				default:
					in.checkPriority(t, m, s)
				}
			}
		})
	})
}

// checkTimes checks starts, ends, moved bytes and the makespan.
func (in instance) checkTimes(t testingT, tr *engine.Trace) {
	t.Helper()
	last := engine.Time(0)
	for id := range int32(len(in.g.Tasks)) {
		start := engine.Time(0)
		for _, e := range in.g.In(id) {
			start = max(start, tr.End[e.From]+e.Lag)
		}
		if tr.Start[id] != start {
			t.Fatalf("task %d starts at %d, ready at %d", id, tr.Start[id], start)
		}
		last = max(last, tr.End[id])
		k := &in.g.Tasks[id]
		steps := tr.Rates(id)
		if k.Kind == engine.Compute || k.Bytes == 0 || len(in.r.Of(id)) == 0 {
			want := in.durationAlone(id)
			if len(steps) != 0 || math.Abs(float64(tr.End[id]-start)-want) > 0.5 {
				t.Fatalf("task %d takes %d with %d rate steps, want %g with none", id, tr.End[id]-start, len(steps), want)
			}
			continue
		}
		bits, maxRate := 0.0, 0.0
		for i, s := range steps {
			if i+1 < len(steps) {
				if steps[i+1].At < s.At {
					t.Fatalf("task %d: rate steps %v go back", id, steps)
				}
				bits += s.Rate * perTick * float64(steps[i+1].At-s.At)
				maxRate = max(maxRate, s.Rate/float64(engine.Second))
			}
		}
		if len(steps) < 2 || steps[0].At != start || steps[len(steps)-1] != (engine.RateStep{At: tr.End[id]}) {
			t.Fatalf("task %d from %d to %d has rate steps %v", id, start, tr.End[id], steps)
		}
		// The last tick may be used in part.
		if over := bits - 8*float64(k.Bytes); over < -rateTolerance*bits || over > maxRate*(1+rateTolerance)+rateTolerance*bits {
			t.Fatalf("task %d moved %g bits of %d", id, bits, 8*k.Bytes)
		}
	}
	if tr.Makespan != last {
		t.Fatalf("makespan %d, last end %d", tr.Makespan, last)
	}
}

// interval is a time span without events.
type interval struct {
	from, to  engine.Time
	capacity  []float64         // bits per tick, indexed by resource
	rate      map[int32]float64 // bits per tick, by running transfer
	remaining map[int32]float64 // bits left in the middle of the interval, by running transfer
	ids       []int32           // the running transfers
}

// intervals cuts a trace at every start, end, rate step and change.
func (in instance) intervals(tr *engine.Trace) []interval {
	cuts := append(slices.Clone(tr.Start), tr.End...)
	for _, s := range tr.Steps {
		cuts = append(cuts, s.At)
	}
	for _, c := range in.n.Changes {
		cuts = append(cuts, c.At)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var all []interval
	for k := 0; k+1 < len(cuts); k++ {
		m := interval{from: cuts[k], to: cuts[k+1], rate: map[int32]float64{}, remaining: map[int32]float64{}}
		for r := range int32(in.n.Resources()) {
			m.capacity = append(m.capacity, in.n.Rate(r)/float64(engine.Second))
		}
		for _, c := range in.n.Changes {
			if c.At <= m.from {
				m.capacity[c.Link] = c.Rate * perTick
			}
		}
		for id := range int32(len(in.g.Tasks)) {
			steps := tr.Rates(id)
			if len(steps) == 0 || tr.Start[id] > m.from || tr.End[id] <= m.from {
				continue
			}
			m.ids = append(m.ids, id)
			remaining := 8 * float64(in.g.Tasks[id].Bytes)
			middle := (float64(m.from) + float64(m.to)) / 2
			for i, s := range steps {
				if s.At > m.from {
					break
				}
				until := middle
				if i+1 < len(steps) {
					until = min(until, float64(steps[i+1].At))
				}
				m.rate[id] = s.Rate * perTick
				remaining -= m.rate[id] * (until - float64(s.At))
			}
			m.remaining[id] = remaining
		}
		all = append(all, m)
	}
	return all
}

// load returns the capacity of resource r that the running transfers use.
func (in instance) load(m interval, r int32) float64 {
	sum := 0.0
	for _, id := range m.ids {
		for _, u := range in.r.Of(id) {
			if u.Resource == r {
				sum += m.rate[id] * u.Weight
			}
		}
	}
	return sum
}

func (in instance) checkCapacity(t testingT, m interval) {
	t.Helper()
	for r, c := range m.capacity {
		if l := in.load(m, int32(r)); l > c*(1+rateTolerance) {
			t.Fatalf("from %d: %s carries %g of %g bits a tick", m.from, in.n.ResourceName(int32(r)), l, c)
		}
	}
	for _, id := range m.ids {
		if m.rate[id] > 0 && m.rate[id] < rateTolerance*in.fullRate(id) {
			t.Fatalf("from %d: task %d has a crumb of %g bits a tick", m.from, id, m.rate[id])
		}
		if limit := in.rateLimit(id); m.rate[id] > limit*(1+rateTolerance) {
			t.Fatalf("from %d: task %d at %g, limit %g", m.from, id, m.rate[id], limit)
		}
	}
}

func (in instance) rateLimit(id int32) float64 {
	return in.r.Cap(id, in.g.Tasks[id].Flows) * perTick
}

func (in instance) users(m interval, r int32) []int32 {
	var all []int32
	for _, id := range m.ids {
		if slices.ContainsFunc(in.r.Of(id), func(u engine.Use) bool { return u.Resource == r }) {
			all = append(all, id)
		}
	}
	return all
}

// checkMaxMin checks the criterion of max-min fairness (Bertsekas and Gallager, Data Networks,
// Sec. 6.5.2): every transfer is at its own limit or uses a saturated resource on which no other
// transfer has a larger share.
func (in instance) checkMaxMin(t testingT, m interval) {
	t.Helper()
	share := func(id int32) float64 { return m.rate[id] / float64(in.g.Tasks[id].Flows) }
	for _, id := range m.ids {
		ok := m.rate[id] >= in.rateLimit(id)*(1-rateTolerance)
		for _, u := range in.r.Of(id) {
			saturated := in.load(m, u.Resource) >= m.capacity[u.Resource]*(1-rateTolerance)
			largest := !slices.ContainsFunc(in.users(m, u.Resource), func(o int32) bool { return share(o) > share(id)*(1+rateTolerance) })
			ok = ok || saturated && largest
		}
		if !ok {
			t.Fatalf("from %d: task %d at %g bits a tick has no bottleneck; rates %v", m.from, id, m.rate[id], m.rate)
		}
	}
}

// checkPriority checks strict priority: every transfer is at its own limit or uses a resource
// that is saturated by transfers of at least its priority, itself included. Transfers of equal
// fixed priority must share fairly: none has a larger share on that resource.
func (in instance) checkPriority(t testingT, m interval, s flow.Service) {
	t.Helper()
	tail := in.tails()
	// Levels within 16 ticks are equal. Chains of such levels and the rounding of events to ticks
	// add up to this margin. Tails differ by rounding only.
	margin := 1e-3
	if s == flow.LevelPriority {
		margin = 40 * float64(len(in.g.Tasks))
	}
	level := func(id int32) float64 {
		switch s {
		case flow.LevelPriority:
			return m.remaining[id]/in.fullRate(id) + tail[id]
		case flow.TailPriority:
			return tail[id]
		}
		return float64(in.g.Tasks[id].Priority)
	}
	for _, id := range m.ids {
		ok := m.rate[id] >= in.rateLimit(id)*(1-rateTolerance)
		for _, u := range in.r.Of(id) {
			saturated := in.load(m, u.Resource) >= m.capacity[u.Resource]*(1-rateTolerance)
			lower := slices.ContainsFunc(in.users(m, u.Resource), func(o int32) bool {
				if m.rate[o] <= rateTolerance*m.capacity[u.Resource] {
					return false
				}
				larger := m.rate[o]/float64(in.g.Tasks[o].Flows) > m.rate[id]/float64(in.g.Tasks[id].Flows)*(1+rateTolerance)
				return level(o) < level(id)-margin || s == flow.FixedPriority && level(o) == level(id) && larger
			})
			ok = ok || saturated && !lower
		}
		if !ok {
			t.Fatalf("from %d to %d: task %d at %g bits a tick of %g, level %g, gives way to a lower one; rates %v",
				m.from, m.to, id, m.rate[id], in.fullRate(id), level(id), m.rate)
		}
	}
}
